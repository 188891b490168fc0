#include "launch/system/machine_facts.h"

#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace capstan {
namespace {

TEST(MachineFactsTest, ThisMachineHasThem) {
  const testing::TempDir folder;
  const MachineFacts facts = ReadMachineFacts(folder.path());
  EXPECT_EQ(facts.kernel.substr(0, 6), "Linux ");
  EXPECT_GT(facts.cores.value_or(0), 0);
  EXPECT_EQ(facts.cpu, ReadCpuFeatures());
  EXPECT_EQ(facts.huge_pages.find_first_of("[] "), std::string::npos);
  EXPECT_GT(facts.open_files.value_or(0), 10u);
  EXPECT_GE(facts.open_files_hard.value_or(0), facts.open_files.value_or(0));
  EXPECT_GT(facts.threads.value_or(0), 1u);
  EXPECT_GT(facts.memory_bytes.value_or(0), 0u);
  EXPECT_GT(facts.somaxconn.value_or(0), 0u);
  EXPECT_EQ(facts.folder, folder.path());
  EXPECT_TRUE(facts.folder_is_writable);
  EXPECT_TRUE(facts.disk_bytes.has_value());
}

TEST(MachineFactsTest, FolderThatIsNotThere) {
  const testing::TempDir folder;
  const MachineFacts facts = ReadMachineFacts(folder / "absent");
  EXPECT_FALSE(facts.folder_is_writable);
  EXPECT_FALSE(facts.disk_bytes.has_value());
}

}  // namespace
}  // namespace capstan
