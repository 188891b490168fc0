#include "capstan/version.h"

#include <gtest/gtest.h>

#include <string>

namespace capstan {
namespace {

TEST(VersionTest, LibraryMatchesHeaders) {
  std::string headers = std::to_string(CAPSTAN_VERSION_MAJOR) + "." +
                        std::to_string(CAPSTAN_VERSION_MINOR) + "." +
                        std::to_string(CAPSTAN_VERSION_PATCH);
  EXPECT_EQ(Version(), headers);
}

}  // namespace
}  // namespace capstan
