#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "capstan/resolver.h"

namespace capstan {
namespace {

using ::testing::Optional;

TEST(EnvironmentTest, HoldsWhatItIsGiven) {
  const Environment environment = Environment::Of({{"A", "1"}, {"EMPTY", ""}});
  EXPECT_THAT(environment.Get("A"), Optional(std::string("1")));
  EXPECT_EQ(environment.Get("B"), std::nullopt);
  EXPECT_EQ(environment.Get("EMPTY"), std::nullopt);
  EXPECT_TRUE(environment.Has("EMPTY"));
  EXPECT_FALSE(environment.Has("B"));
  EXPECT_FALSE(Environment().Has("PATH"));
}

TEST(EnvironmentTest, OfTheProcessIsTakenOnce) {
  ASSERT_EQ(setenv("CAPSTAN_ENVIRONMENT_TEST", "a=b", 1), 0);
  const Environment taken = Environment::FromProcess();
  ASSERT_EQ(unsetenv("CAPSTAN_ENVIRONMENT_TEST"), 0);
  EXPECT_THAT(taken.Get("CAPSTAN_ENVIRONMENT_TEST"),
              Optional(std::string("a=b")));
  EXPECT_FALSE(Environment::FromProcess().Has("CAPSTAN_ENVIRONMENT_TEST"));
}

}  // namespace
}  // namespace capstan
