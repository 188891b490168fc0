#include "launch/local/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "capstan/resolver.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::capstan::testing::TempDir;

// 2023-11-14 22:13:20.5 UTC.
constexpr WallTime kNow(std::chrono::milliseconds(1'700'000'000'500));

int PermissionsOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : -1;
}

TEST(RunFolderTest, IsForTheUserAlone) {
  const TempDir dir;
  absl::StatusOr<RunFolder> folder = RunFolder::Create(dir.path(), kNow, 1778);
  ASSERT_OK(folder);
  EXPECT_EQ(folder->path(), "runs/20231114-221320-1778");
  ASSERT_OK(folder->CreateLog({Role::kWorker, 1}));
  const std::string log = folder->LogPath({Role::kWorker, 1});
  EXPECT_EQ(log, "runs/20231114-221320-1778/logs/worker-1.log");
  EXPECT_EQ(PermissionsOf(dir / log), 0600);
  EXPECT_EQ(PermissionsOf(dir / "runs"), 0700);
  EXPECT_EQ(PermissionsOf(dir / folder->path()), 0700);
  EXPECT_EQ(PermissionsOf(dir / (folder->path() + "/logs")), 0700);
}

TEST(RunFolderTest, OthersCanReadTheCluster) {
  const TempDir dir;
  absl::StatusOr<RunFolder> folder = RunFolder::Create(dir.path(), kNow, 1778);
  ASSERT_OK(folder);
  const ClusterSpec spec({{Role::kChief, {"127.0.0.1:7000"}},
                          {Role::kWorker, {"127.0.0.1:7001"}},
                          {Role::kPs, {"127.0.0.1:7002"}}});
  ASSERT_OK(folder->WriteCluster(spec, "0123456789"));
  const std::string file = dir / (folder->path() + "/cluster.yaml");
  EXPECT_EQ(PermissionsOf(file), 0600);
  const ResolvedCluster read =
      FileClusterResolver(file, {}, Environment()).Resolve();
  EXPECT_EQ(read.spec, spec);
  EXPECT_EQ(read.job_id, "0123456789");
}

TEST(RunFolderTest, KnowsWhenTheJobIsOver) {
  const TempDir dir;
  absl::StatusOr<RunFolder> folder = RunFolder::Create(dir.path(), kNow, 1778);
  ASSERT_OK(folder);
  EXPECT_EQ(folder->OverPath(), "runs/20231114-221320-1778/over");
  EXPECT_FALSE(folder->IsOver());
  std::ofstream(dir / folder->OverPath()).flush();
  EXPECT_TRUE(folder->IsOver());
}

TEST(RunFolderTest, RunsMayBeALink) {
  const TempDir dir;
  const TempDir disk;
  std::filesystem::create_directory_symlink(disk.path(), dir / "runs");
  ASSERT_OK(RunFolder::Create(dir.path(), kNow, 1));
  EXPECT_EQ(PermissionsOf(disk / "20231114-221320-1/logs"), 0700);
}

TEST(RunFolderTest, TwoRunsDoNotShareAFolder) {
  const TempDir dir;
  ASSERT_OK(RunFolder::Create(dir.path(), kNow, 1));
  ASSERT_OK(RunFolder::Create(dir.path(), kNow, 2));
  EXPECT_THAT(RunFolder::Create(dir.path(), kNow, 2),
              StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST(RunFolderTest, NoFolderToBeIn) {
  const TempDir dir;
  EXPECT_THAT(RunFolder::Create(dir / "none", kNow, 1),
              StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace capstan
