#include "launch/local/task_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "base/file/posix_file_system.h"
#include "launch/system/file_descriptor.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::capstan::testing::TempDir;
using ::testing::ElementsAre;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A disk that is full from the start.
class FullFile final : public WritableFile {
 public:
  absl::Status Append(Bytes) override {
    return absl::ResourceExhaustedError("disk full");
  }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status Close() override { return absl::OkStatus(); }
};

class TaskOutputTest : public ::testing::Test {
 protected:
  TaskOutputTest()
      : fd_(open((dir_ / "screen").c_str(), O_CREAT | O_WRONLY, 0600)),
        screen_(fd_.get(), fd_.get()),
        files_(*PosixFileSystem::Open(dir_.path())) {}

  TaskOutput Make() {
    return TaskOutput({Role::kPs, 0},
                      *files_->CreateForWrite("log", IfExists::kTruncate),
                      screen_);
  }

  std::string Shown() {
    screen_.Write();
    return ReadAll(dir_ / "screen");
  }
  std::string Log() { return ReadAll(dir_ / "log"); }

  TempDir dir_;
  FileDescriptor fd_;
  Screen screen_;
  std::unique_ptr<PosixFileSystem> files_;
};

TEST_F(TaskOutputTest, LinesInPieces) {
  TaskOutput output = Make();
  ASSERT_OK(output.Take("on"));
  EXPECT_EQ(Shown(), "");
  ASSERT_OK(output.Take("e\n\ntw"));
  ASSERT_OK(output.Take("o\n"));
  output.End();
  EXPECT_EQ(Shown(), "ps/0: one\nps/0: \nps/0: two\n");
  EXPECT_EQ(Log(), "one\n\ntwo\n");
  EXPECT_THAT(output.last_lines().lines(), ElementsAre("one", "", "two"));
}

TEST_F(TaskOutputTest, TheLastLineMayLackItsEnd) {
  TaskOutput output = Make();
  ASSERT_OK(output.Take("dying"));
  output.End();
  ASSERT_OK(output.Take("again\n"));
  EXPECT_EQ(Shown(), "ps/0: dying\nps/0: again\n");
  EXPECT_EQ(Log(), "dyingagain\n");
}

TEST_F(TaskOutputTest, LongLinesAreCutOnTheScreenOnly) {
  TaskOutput output = Make();
  const std::string longest(TaskOutput::kMaxLine, 'x');
  ASSERT_OK(output.Take(longest + "\n"));
  ASSERT_OK(output.Take(longest + "y"));
  ASSERT_OK(output.Take("z"));
  output.End();
  ASSERT_OK(output.Take(longest));
  ASSERT_OK(output.Take("y\nnext\n"));
  const std::string cut = longest + "... (cut; the log has it whole)\n";
  EXPECT_EQ(Shown(), "ps/0: " + longest + "\nps/0: " + cut + "ps/0: " + cut +
                         "ps/0: next\n");
  EXPECT_EQ(Log(), longest + "\n" + longest + "yz" + longest + "y\nnext\n");
}

TEST_F(TaskOutputTest, BinaryOutputIsKept) {
  TaskOutput output = Make();
  const std::string bytes("\0\xff\x80\r\n\0", 6);
  ASSERT_OK(output.Take(bytes));
  output.End();
  EXPECT_EQ(Log(), bytes);
  EXPECT_EQ(Shown(), std::string("ps/0: \0\xff\x80\r\nps/0: \0\n", 19));
}

TEST_F(TaskOutputTest, AFullDiskIsSaidOnce) {
  TaskOutput output({Role::kPs, 0}, std::make_unique<FullFile>(), screen_);
  EXPECT_THAT(output.Take("one\n"),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(output.Take("two\n"));
  EXPECT_EQ(Shown(), "ps/0: one\nps/0: two\n");
}

}  // namespace
}  // namespace capstan
