#include "launch/local/last_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/temp_dir.h"

namespace capstan {
namespace {

void Write(const std::string& path) {
  std::filesystem::create_directories(
      std::filesystem::path(path).parent_path());
  std::ofstream(path) << "cluster: {}\n";
}

TEST(LastRunTest, NothingIsEmpty) {
  const testing::TempDir folder;
  EXPECT_EQ(LastClusterFile(folder.path()), "");
}

TEST(LastRunTest, LatestWithAFileIsFound) {
  const testing::TempDir folder;
  Write(folder / "runs/20260101-000000-5/cluster.yaml");
  Write(folder / "runs/20260102-000000-4/cluster.yaml");
  Write(folder / "runs/20260103-000000-3/logs/ps-0.log");
  EXPECT_EQ(LastClusterFile(folder.path()),
            folder / "runs/20260102-000000-4/cluster.yaml");
}

}  // namespace
}  // namespace capstan
