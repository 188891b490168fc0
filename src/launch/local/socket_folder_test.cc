#include "launch/local/socket_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "cluster/address.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::TempDir;
using ::testing::StartsWith;

TEST(SocketFolderTest, IsTheUsersAloneAndGoesWithAllThatIsInIt) {
  const TempDir parent;
  std::string path;
  {
    absl::StatusOr<SocketFolder> made = SocketFolder::Create(parent.path());
    ASSERT_OK(made);
    const SocketFolder folder = *std::move(made);
    path = folder.path();
    EXPECT_THAT(path, StartsWith(parent.path() + "/capstan-"));
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 0700u);
    std::ofstream(path + "/joined-1") << "left behind";
    EXPECT_EQ(folder.AddressOf({Role::kWorker, 12}),
              "unix:" + path + "/worker-12");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(parent.path()));
}

TEST(SocketFolderTest, IsInTmpIfTheParentIsNoPlaceForIt) {
  const TempDir parent;
  const std::string deep = parent / std::string(60, 'd');
  const std::string blank = parent / "a b";
  std::filesystem::create_directory(deep);
  std::filesystem::create_directory(blank);
  for (const std::string& place : {std::string(), std::string("relative"), deep,
                                   blank, parent / "missing"}) {
    const absl::StatusOr<SocketFolder> folder = SocketFolder::Create(place);
    ASSERT_OK(folder) << place;
    EXPECT_THAT(folder->path(), StartsWith("/tmp/capstan-")) << place;
    EXPECT_OK(ValidateAddress(folder->AddressOf({Role::kEvaluator, 9999})));
  }
}

TEST(SocketFolderTest, WorkerThatJoinsIsBesideTheChief) {
  EXPECT_EQ(AddressBeside("unix:/tmp/capstan-a/chief-0", 4711),
            "unix:/tmp/capstan-a/joined-4711");
}

}  // namespace
}  // namespace capstan
