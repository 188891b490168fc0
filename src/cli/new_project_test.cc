#include "cli/new_project.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(NewProjectTest, NameIsTheLastPartOfThePath) {
  EXPECT_EQ(ProjectName("click"), "click");
  EXPECT_EQ(ProjectName("/a/b/click-2/"), "click-2");
  EXPECT_EQ(ProjectName("a/my model"), "my_model");
  EXPECT_EQ(ProjectName("a/b/.."), "a");
  EXPECT_EQ(ProjectName("test"), "test_project");
  EXPECT_EQ(ProjectName("/"), "train");
  EXPECT_EQ(ProjectName("..."), "train");
}

TEST(NewProjectTest, WritesIntoANewDirectory) {
  const testing::TempDir folder;
  ASSERT_OK(WriteStarterProject(folder / "a/click"));
  for (const ProjectFile& file : StarterProject("click")) {
    EXPECT_EQ(Content(folder / ("a/click/" + file.name)), file.content);
    EXPECT_THAT(file.content, Not(HasSubstr("@")));
  }
  EXPECT_THAT(Content(folder / "a/click/CMakeLists.txt"),
              HasSubstr("project(click LANGUAGES CXX)"));
}

TEST(NewProjectTest, RefusesWhatIsNotEmpty) {
  const testing::TempDir folder;
  std::ofstream(folder / "mine") << "precious";
  EXPECT_THAT(WriteStarterProject(folder.path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is not empty")));
  EXPECT_THAT(WriteStarterProject(folder / "mine"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("not a directory")));
  EXPECT_THAT(WriteStarterProject(folder / "mine/new"), Not(testing::IsOk()));
  EXPECT_EQ(Content(folder / "mine"), "precious");
  EXPECT_FALSE(std::filesystem::exists(folder / "main.cc"));
}

}  // namespace
}  // namespace capstan
