#include "transport/turnstile.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <optional>

namespace capstan {
namespace {

class TurnstileTest : public ::testing::Test {
 protected:
  asio::io_context context_;
  CallState a_{context_.get_executor()};
  CallState b_{context_.get_executor()};
  CallState c_{context_.get_executor()};
  Turnstile turnstile_{100};
};

TEST_F(TurnstileTest, GrantsInOrderWhileThereIsRoom) {
  std::optional<Turnstile::Passage> a(std::in_place, turnstile_, a_, 60);
  std::optional<Turnstile::Passage> b(std::in_place, turnstile_, b_, 60);
  // Would fit but must not overtake.
  std::optional<Turnstile::Passage> c(std::in_place, turnstile_, c_, 10);
  EXPECT_TRUE(a->granted());
  EXPECT_FALSE(b->granted());
  EXPECT_FALSE(c->granted());
  a.reset();
  EXPECT_TRUE(b->granted());
  EXPECT_TRUE(c->granted());
}

TEST_F(TurnstileTest, OneAloneMayExceedTheLimit) {
  std::optional<Turnstile::Passage> huge(std::in_place, turnstile_, a_,
                                         UINT64_MAX);
  EXPECT_TRUE(huge->granted());
  Turnstile::Passage next(turnstile_, b_, 1);
  EXPECT_FALSE(next.granted());
  huge.reset();
  EXPECT_TRUE(next.granted());
}

TEST_F(TurnstileTest, WhoGivesUpLetsTheNextPass) {
  Turnstile::Passage a(turnstile_, a_, 60);
  std::optional<Turnstile::Passage> b(std::in_place, turnstile_, b_, 60);
  Turnstile::Passage c(turnstile_, c_, 40);
  EXPECT_FALSE(c.granted());
  b.reset();
  EXPECT_TRUE(c.granted());
}

TEST_F(TurnstileTest, EndAllEndsThoseThatWait) {
  Turnstile::Passage a(turnstile_, a_, 100);
  Turnstile::Passage b(turnstile_, b_, 100);
  turnstile_.EndAll(absl::CancelledError("closed"));
  EXPECT_FALSE(a_.ended());
  EXPECT_TRUE(b_.ended());
}

}  // namespace
}  // namespace capstan
