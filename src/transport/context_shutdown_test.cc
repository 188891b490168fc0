#include "transport/context_shutdown.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <memory>
#include <utility>

namespace capstan {
namespace {

TEST(ContextShutdownTest, CallsWhenTheContextIsDestroyed) {
  int calls = 0;
  auto context = std::make_unique<asio::io_context>();
  const ContextShutdown first(context->get_executor(), [&] { ++calls; });
  const ContextShutdown second(context->get_executor(), [&] { ++calls; });
  EXPECT_EQ(calls, 0);
  context = nullptr;
  EXPECT_EQ(calls, 2);
}

TEST(ContextShutdownTest, DoesNotCallOnceDestroyed) {
  int calls = 0;
  auto context = std::make_unique<asio::io_context>();
  auto hook = std::make_unique<ContextShutdown>(context->get_executor(),
                                                [&] { ++calls; });
  hook = nullptr;
  context = nullptr;
  EXPECT_EQ(calls, 0);
}

TEST(ContextShutdownTest, CallsBeforeTheQueueIsDestroyed) {
  // Work in the queue is destroyed after the shutdown call.
  struct Queued {
    ~Queued() {
      if (called != nullptr) seen = *called;
    }
    const bool* called = nullptr;
    bool& seen;
  };
  bool called = false;
  bool seen = false;
  auto context = std::make_unique<asio::io_context>();
  const ContextShutdown hook(context->get_executor(), [&] { called = true; });
  std::shared_ptr<Queued> queued(new Queued{&called, seen});
  asio::post(*context, [queued = std::move(queued)] {});
  context = nullptr;
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace capstan
