#include "base/file/posix_file_system.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/file/file_system_contract_test.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::capstan::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PosixHarness final : public FileSystemHarness {
 public:
  PosixHarness() : files_(PosixFileSystem::Open(dir_.path()).value()) {}
  FileSystem& files() override { return *files_; }

 private:
  const TempDir dir_;
  const std::unique_ptr<PosixFileSystem> files_;
};

INSTANTIATE_TEST_SUITE_P(
    Posix, FileSystemContractTest,
    ::testing::Values([]() -> std::unique_ptr<FileSystemHarness> {
      return std::make_unique<PosixHarness>();
    }));

class PosixFileSystemTest : public ::testing::Test {
 protected:
  PosixFileSystemTest() : files_(PosixFileSystem::Open(dir_.path()).value()) {}

  // Bypasses the file system.
  void WriteOutside(const std::string& path, const std::string& content) {
    std::ofstream(path) << content;
  }

  const TempDir outside_;
  const TempDir dir_;
  const std::unique_ptr<PosixFileSystem> files_;
};

TEST_F(PosixFileSystemTest, OpenNamesABadRoot) {
  EXPECT_THAT(PosixFileSystem::Open(dir_ / "no"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(dir_ / "no")));
  WriteOutside(dir_ / "file", "x");
  EXPECT_THAT(PosixFileSystem::Open(dir_ / "file"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(PosixFileSystemTest, RootMayBeALink) {
  std::filesystem::create_symlink(dir_.path(), outside_ / "link");
  const auto files = PosixFileSystem::Open((outside_ / "link") + "/");
  ASSERT_OK(files);
  WriteOutside(dir_ / "a", "x");
  EXPECT_THAT(ReadFile(**files, "a", 10), IsOkAndHolds("x"));
  EXPECT_THAT((*files)->Stat("b"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("\"" + (outside_ / "link") + "/b\"")));
}

TEST_F(PosixFileSystemTest, RootOfTheMachineNamesPathsRight) {
  const auto files = PosixFileSystem::Open("/");
  ASSERT_OK(files);
  EXPECT_THAT(
      (*files)->Stat("no such thing"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"/no such thing\"")));
}

TEST_F(PosixFileSystemTest, SymbolicLinksAreNotFollowed) {
  WriteOutside(outside_ / "secret", "s");
  std::filesystem::create_symlink(outside_ / "secret", dir_ / "file");
  std::filesystem::create_directory_symlink(outside_.path(), dir_ / "dir");
  std::filesystem::create_symlink(outside_ / "new", dir_ / "dangling");
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("symbolic link"));
  EXPECT_THAT(files_->OpenForRead("file"), refused);
  EXPECT_THAT(files_->OpenForAppend("file"), refused);
  EXPECT_THAT(files_->CreateForWrite("file", IfExists::kTruncate), refused);
  EXPECT_THAT(files_->CreateForWrite("dangling", IfExists::kTruncate), refused);
  EXPECT_THAT(files_->CreateForWrite("dangling", IfExists::kFail),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(files_->OpenForRead("dir/secret"), refused);
  EXPECT_THAT(files_->CreateForWrite("dir/x", IfExists::kFail), refused);
  EXPECT_THAT(files_->CreateDir("dir/x"), refused);
  EXPECT_THAT(files_->Remove("dir/secret"), refused);
  EXPECT_THAT(files_->Rename("dir/secret", "dir/x"), refused);
  EXPECT_THAT(files_->Stat("dir/secret"), refused);
  EXPECT_FALSE(files_->List("dir").ok());
  EXPECT_FALSE(files_->SyncDir("dir").ok());
  const absl::StatusOr<FileInfo> info = files_->Stat("file");
  ASSERT_OK(info);
  EXPECT_EQ(info->kind, FileKind::kOther);
  EXPECT_OK(files_->Remove("file"));
  EXPECT_THAT(
      ReadFile(*PosixFileSystem::Open(outside_.path()).value(), "secret", 10),
      IsOkAndHolds("s"));
  EXPECT_THAT(PosixFileSystem::Open(outside_.path()).value()->List(""),
              IsOkAndHolds(ElementsAre("secret")));
}

TEST_F(PosixFileSystemTest, FifoIsRefusedAndDoesNotBlock) {
  ASSERT_EQ(mkfifo((dir_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(files_->OpenForRead("fifo"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(files_->OpenForAppend("fifo"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(PosixFileSystemTest, PermissionsAreTheOwnersWhateverTheUmask) {
  const mode_t before = umask(0);
  const auto file = files_->CreateForWrite("a", IfExists::kFail);
  const absl::Status dir = files_->CreateDir("d");
  umask(before);
  ASSERT_OK(file);
  ASSERT_OK(dir);
  struct stat info = {};
  ASSERT_EQ(stat((dir_ / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0600u);
  ASSERT_EQ(stat((dir_ / "d").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0700u);
}

TEST_F(PosixFileSystemTest, DescriptorsAreClosedOnExecAndAtTheEnd) {
  // Counts our descriptors, and checks each.
  const auto count = [&] {
    int ours = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const auto target = std::filesystem::read_symlink(entry.path(), error);
      if (!target.string().starts_with(dir_.path())) continue;
      ++ours;
      const int fd = std::stoi(entry.path().filename().string());
      EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << target;
    }
    return ours;
  };
  EXPECT_EQ(count(), 1);
  {
    const auto writer = files_->CreateForWrite("a", IfExists::kFail);
    const auto reader = files_->OpenForRead("a");
    ASSERT_OK(writer);
    ASSERT_OK(reader);
    EXPECT_EQ(count(), 3);
    EXPECT_OK((*writer)->Close());
    EXPECT_EQ(count(), 2);
    EXPECT_OK(files_->List(""));
    EXPECT_OK(files_->SyncDir(""));
    EXPECT_FALSE(files_->OpenForRead("no").ok());
    EXPECT_FALSE(files_->OpenForRead("").ok());
    EXPECT_EQ(count(), 2);
  }
  EXPECT_EQ(count(), 1);
}

// Runs as an unprivileged user, since root may write anywhere.
TEST_F(PosixFileSystemTest, PermissionIsDenied) {
  WriteOutside(dir_ / "a", "x");
  ASSERT_EQ(chmod((dir_ / "a").c_str(), 0400), 0);
  ASSERT_EQ(chmod(dir_.path().c_str(), 0500), 0);
  const bool root = geteuid() == 0;
  const int before = root ? setfsuid(65534) : 0;
  const absl::Status append = files_->OpenForAppend("a").status();
  const absl::Status create =
      files_->CreateForWrite("b", IfExists::kFail).status();
  const absl::Status dir = files_->CreateDir("d");
  if (root) setfsuid(static_cast<uid_t>(before));
  chmod(dir_.path().c_str(), 0700);
  const auto denied =
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(dir_.path()));
  EXPECT_THAT(append, denied);
  EXPECT_THAT(create, denied);
  EXPECT_THAT(dir, denied);
}

// RLIMIT_FSIZE makes write() short, then fail with EFBIG: the same code path of
// ours as a full disk.
TEST_F(PosixFileSystemTest, FullDiskIsResourceExhaustedAndSticks) {
  auto file = files_->CreateForWrite("a", IfExists::kFail);
  ASSERT_OK(file);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string data(1500, 'x');
  const absl::Status status = (*file)->Append(AsBytes(data));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr(dir_ / "a")));
  EXPECT_EQ(files_->Stat("a")->size, 1000u);
  // There is room now, but the file does not hold what its writer expects.
  EXPECT_THAT((*file)->Append(AsBytes("y")),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT((*file)->Sync(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_OK((*file)->Close());
}

// Mounts a small tmpfs that only the calling thread sees and that disappears
// with the thread. False if the system does not permit it.
bool MountSmallDisk(const std::string& path) {
  return unshare(CLONE_FS | CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", path.c_str(), "tmpfs", 0, "size=64k") == 0;
}

TEST_F(PosixFileSystemTest, NoSpaceIsResourceExhausted) {
  bool mounted = false;
  std::thread([&] {
    mounted = MountSmallDisk(dir_.path());
    if (!mounted) return;
    const auto small = PosixFileSystem::Open(dir_.path()).value();
    auto file = small->CreateForWrite("a", IfExists::kFail);
    ASSERT_OK(file);
    const std::string data(100'000, 'x');
    EXPECT_THAT(
        (*file)->Append(AsBytes(data)),
        StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("No space")));
  }).join();
  if (!mounted) GTEST_SKIP() << "needs root to mount a tmpfs";
}

TEST_F(PosixFileSystemTest, TooManyOpenFilesIsResourceExhausted) {
  WriteOutside(dir_ / "a", "x");
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit limit = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  const absl::Status status = files_->OpenForRead("a").status();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("the limit of this process is 3; "
                                         "raise it")));
}

TEST_F(PosixFileSystemTest, OffsetsBeyond4GiB) {
  constexpr uint64_t kHole = (uint64_t{1} << 32) + 5;
  WriteOutside(dir_ / "a", "");
  ASSERT_EQ(truncate((dir_ / "a").c_str(), kHole), 0);
  auto file = files_->OpenForAppend("a");
  ASSERT_OK(file);
  ASSERT_OK((*file)->Append(AsBytes("end")));
  const auto reader = files_->OpenForRead("a");
  ASSERT_OK(reader);
  EXPECT_THAT((*reader)->Size(), IsOkAndHolds(kHole + 3));
  EXPECT_EQ(files_->Stat("a")->size, kHole + 3);
  std::array<std::byte, 5> bytes{};
  EXPECT_THAT((*reader)->ReadAt(kHole, bytes), IsOkAndHolds(3u));
  EXPECT_EQ(AsText(bytes).substr(0, 3), "end");
  EXPECT_THAT(ReadFile(*files_, "a", 1 << 20),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(PosixFileSystemTest, ThreadsShareIt) {
  std::vector<std::thread> threads;
  std::atomic<int> failures = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const std::string name = "file" + std::to_string(t);
      for (int i = 0; i < 50; ++i) {
        const std::string text = std::to_string(t * 1000 + i);
        if (!ReplaceFile(*files_, name, AsBytes(text)).ok()) ++failures;
        const auto content = ReadFile(*files_, name, 100);
        if (!content.ok() || *content != text) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(files_->List("")->size(), 4u);
}

}  // namespace
}  // namespace capstan
