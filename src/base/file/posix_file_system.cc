#include "base/file/posix_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cat.h"
#include "base/file/open_files.h"
#include "base/status.h"

namespace capstan {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirMode = 0700;

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case EFBIG:
      return absl::StatusCode::kResourceExhausted;
    case EIO:
      return absl::StatusCode::kDataLoss;
    case ELOOP:
    case EXDEV:
    case ENXIO:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::ErrnoToStatusCode(error);
  }
}

// The error for `verb` on `path` that corresponds to errno `error`.
absl::Status Failure(std::string_view verb, std::string_view path, int error) {
  return FileError(CodeOf(error), verb, path,
                   error == ELOOP ? "is or leads through a symbolic link"
                                  : std::generic_category().message(error) +
                                        OpenFilesRemedy(error));
}

// The same, for misuse by the caller.
absl::Status Misuse(std::string_view verb, std::string_view path,
                    std::string_view reason) {
  return FileError(absl::StatusCode::kFailedPrecondition, verb, path, reason);
}

// Repeats `function` while it is interrupted by a signal.
template <typename Function>
auto Retry(Function function) {
  auto result = function();
  while (result < 0 && errno == EINTR) result = function();
  return result;
}

class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) = delete;
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Opens `path` beneath `root_fd`; -1 and errno on failure.
UniqueFd OpenBeneath(int root_fd, std::string_view path, int flags,
                     mode_t mode = 0) {
  const std::string name(path.empty() ? "." : path);
  open_how how = {};
  how.flags = static_cast<uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  // The kernel returns EAGAIN if a concurrent rename kept it from proving that
  // the path stays beneath the root; a busy neighbour must not cause an error.
  constexpr int kAttempts = 1000;
  long fd = -1;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    fd = Retry([&] {
      return syscall(SYS_openat2, root_fd, name.c_str(), &how, sizeof(how));
    });
    if (fd >= 0 || errno != EAGAIN) break;
  }
  return UniqueFd(static_cast<int>(fd));
}

// The open directory that holds `path`, and the name of `path` in it.
struct Entry {
  UniqueFd directory;
  std::string name;
};

absl::StatusOr<Entry> OpenEntry(int root_fd, std::string_view path,
                                std::string_view verb,
                                std::string_view full_path) {
  CAPSTAN_RETURN_IF_ERROR(ValidatePath(path));
  if (path.empty()) {
    return FileError(absl::StatusCode::kInvalidArgument, verb, full_path,
                     "is the root");
  }
  UniqueFd directory =
      OpenBeneath(root_fd, DirectoryOf(path), O_PATH | O_DIRECTORY);
  if (directory.get() < 0) return Failure(verb, full_path, errno);
  return Entry{std::move(directory), std::string(NameOf(path))};
}

// Opens a regular file. O_NONBLOCK keeps a FIFO from blocking the open; it has
// no effect on regular files.
absl::StatusOr<UniqueFd> OpenRegular(int root_fd, std::string_view path,
                                     int flags, std::string_view verb,
                                     std::string_view full_path) {
  CAPSTAN_RETURN_IF_ERROR(ValidatePath(path));
  UniqueFd fd = OpenBeneath(root_fd, path, flags | O_NONBLOCK | O_NOCTTY,
                            (flags & O_CREAT) != 0 ? kFileMode : 0);
  if (fd.get() < 0) return Failure(verb, full_path, errno);
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0) return Failure(verb, full_path, errno);
  if (!S_ISREG(info.st_mode)) {
    return Misuse(verb, full_path, "not a regular file");
  }
  return fd;
}

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(UniqueFd fd, std::string path)
      : fd_(std::move(fd)), path_(std::move(path)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset,
                                MutableBytes buffer) const override {
    constexpr auto kMaxOffset =
        static_cast<uint64_t>(std::numeric_limits<off_t>::max());
    const uint64_t room = kMaxOffset - std::min(offset, kMaxOffset);
    buffer = buffer.first(std::min<uint64_t>(buffer.size(), room));
    size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t got = Retry([&] {
        return pread(fd_.get(), buffer.data() + done, buffer.size() - done,
                     static_cast<off_t>(offset + done));
      });
      if (got < 0) return Failure("read", path_, errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  absl::StatusOr<uint64_t> Size() const override {
    struct stat info = {};
    if (fstat(fd_.get(), &info) != 0) return Failure("stat", path_, errno);
    return static_cast<uint64_t>(info.st_size);
  }

 private:
  const UniqueFd fd_;
  const std::string path_;
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(UniqueFd fd, std::string path)
      : fd_(std::move(fd)), path_(std::move(path)) {}

  absl::Status Append(Bytes data) override {
    CAPSTAN_RETURN_IF_ERROR(CheckUsable("append to"));
    while (!data.empty()) {
      const ssize_t put =
          Retry([&] { return write(fd_.get(), data.data(), data.size()); });
      if (put <= 0) return Fail("append to", put == 0 ? EIO : errno);
      data = data.subspan(static_cast<size_t>(put));
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    CAPSTAN_RETURN_IF_ERROR(CheckUsable("sync"));
    if (Retry([&] { return fsync(fd_.get()); }) != 0) {
      return Fail("sync", errno);
    }
    return absl::OkStatus();
  }

  absl::Status Close() override {
    if (fd_.get() < 0) return Misuse("close", path_, "closed already");
    // Linux has closed the descriptor even when close returns EINTR.
    if (close(fd_.release()) != 0 && errno != EINTR) {
      return Failure("close", path_, errno);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckUsable(std::string_view verb) const {
    if (fd_.get() < 0) return Misuse(verb, path_, "closed already");
    if (failed_) return Misuse(verb, path_, "an earlier write failed");
    return absl::OkStatus();
  }
  absl::Status Fail(std::string_view verb, int error) {
    failed_ = true;
    return Failure(verb, path_, error);
  }

  UniqueFd fd_;
  const std::string path_;
  bool failed_ = false;
};

FileKind KindOf(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::kFile;
  if (S_ISDIR(mode)) return FileKind::kDirectory;
  return FileKind::kOther;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PosixFileSystem>> PosixFileSystem::Open(
    std::string root) {
  const int fd = Retry(
      [&] { return open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); });
  if (fd < 0) return Failure("open", root, errno);
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  return std::unique_ptr<PosixFileSystem>(
      new PosixFileSystem(std::move(root), fd));
}

PosixFileSystem::PosixFileSystem(std::string root, int root_fd)
    : root_(std::move(root)), root_fd_(root_fd) {}

PosixFileSystem::~PosixFileSystem() { close(root_fd_); }

std::string PosixFileSystem::FullPath(std::string_view path) const {
  if (path.empty()) return root_;
  return absl::StrCat(root_, root_ == "/" ? "" : "/", ToAbsl(path));
}

absl::StatusOr<std::unique_ptr<ReadableFile>> PosixFileSystem::OpenForRead(
    std::string_view path) const {
  std::string full_path = FullPath(path);
  absl::StatusOr<UniqueFd> fd =
      OpenRegular(root_fd_, path, O_RDONLY, "open", full_path);
  CAPSTAN_RETURN_IF_ERROR(fd.status());
  return std::make_unique<PosixReadableFile>(*std::move(fd),
                                             std::move(full_path));
}

absl::StatusOr<std::unique_ptr<WritableFile>> PosixFileSystem::CreateForWrite(
    std::string_view path, IfExists if_exists) {
  std::string full_path = FullPath(path);
  const int flags = O_WRONLY | O_APPEND | O_CREAT |
                    (if_exists == IfExists::kFail ? O_EXCL : O_TRUNC);
  absl::StatusOr<UniqueFd> fd =
      OpenRegular(root_fd_, path, flags, "create", full_path);
  CAPSTAN_RETURN_IF_ERROR(fd.status());
  return std::make_unique<PosixWritableFile>(*std::move(fd),
                                             std::move(full_path));
}

absl::StatusOr<std::unique_ptr<WritableFile>> PosixFileSystem::OpenForAppend(
    std::string_view path) {
  std::string full_path = FullPath(path);
  absl::StatusOr<UniqueFd> fd =
      OpenRegular(root_fd_, path, O_WRONLY | O_APPEND, "open", full_path);
  CAPSTAN_RETURN_IF_ERROR(fd.status());
  return std::make_unique<PosixWritableFile>(*std::move(fd),
                                             std::move(full_path));
}

absl::Status PosixFileSystem::Rename(std::string_view from,
                                     std::string_view to) {
  const std::string full_path = FullPath(from);
  CAPSTAN_RETURN_IF_ERROR(ValidatePath(to));
  const absl::StatusOr<Entry> entry =
      OpenEntry(root_fd_, from, "rename", full_path);
  CAPSTAN_RETURN_IF_ERROR(entry.status());
  if (to.empty() || DirectoryOf(from) != DirectoryOf(to)) {
    return FileError(absl::StatusCode::kInvalidArgument, "rename", full_path,
                     absl::StrCat("\"", FullPath(to), "\" is elsewhere"));
  }
  const std::string new_name(NameOf(to));
  const int fd = entry->directory.get();
  if (renameat(fd, entry->name.c_str(), fd, new_name.c_str()) != 0) {
    // Some file systems return EEXIST where others return ENOTEMPTY.
    return Failure("rename", full_path, errno == EEXIST ? ENOTEMPTY : errno);
  }
  return absl::OkStatus();
}

absl::Status PosixFileSystem::Remove(std::string_view path) {
  const std::string full_path = FullPath(path);
  const absl::StatusOr<Entry> entry =
      OpenEntry(root_fd_, path, "remove", full_path);
  CAPSTAN_RETURN_IF_ERROR(entry.status());
  if (unlinkat(entry->directory.get(), entry->name.c_str(), 0) != 0) {
    return Failure("remove", full_path, errno);
  }
  return absl::OkStatus();
}

absl::Status PosixFileSystem::CreateDir(std::string_view path) {
  const std::string full_path = FullPath(path);
  const absl::StatusOr<Entry> entry =
      OpenEntry(root_fd_, path, "create directory", full_path);
  CAPSTAN_RETURN_IF_ERROR(entry.status());
  if (mkdirat(entry->directory.get(), entry->name.c_str(), kDirMode) != 0) {
    return Failure("create directory", full_path, errno);
  }
  return absl::OkStatus();
}

absl::Status PosixFileSystem::RemoveDir(std::string_view path) {
  const std::string full_path = FullPath(path);
  const absl::StatusOr<Entry> entry =
      OpenEntry(root_fd_, path, "remove directory", full_path);
  CAPSTAN_RETURN_IF_ERROR(entry.status());
  if (unlinkat(entry->directory.get(), entry->name.c_str(), AT_REMOVEDIR) !=
      0) {
    return Failure("remove directory", full_path,
                   errno == EEXIST ? ENOTEMPTY : errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> PosixFileSystem::List(
    std::string_view path) const {
  const std::string full_path = FullPath(path);
  CAPSTAN_RETURN_IF_ERROR(ValidatePath(path));
  UniqueFd fd = OpenBeneath(root_fd_, path, O_RDONLY | O_DIRECTORY);
  if (fd.get() < 0) return Failure("list", full_path, errno);
  struct CloseDir {
    void operator()(DIR* dir) const { closedir(dir); }
  };
  const std::unique_ptr<DIR, CloseDir> dir(fdopendir(fd.get()));
  if (dir == nullptr) return Failure("list", full_path, errno);
  fd.release();  // the DIR owns it now
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(dir.get());
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  if (errno != 0) return Failure("list", full_path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status PosixFileSystem::SyncDir(std::string_view path) {
  const std::string full_path = FullPath(path);
  CAPSTAN_RETURN_IF_ERROR(ValidatePath(path));
  const UniqueFd fd = OpenBeneath(root_fd_, path, O_RDONLY | O_DIRECTORY);
  if (fd.get() < 0) return Failure("sync directory", full_path, errno);
  if (Retry([&] { return fsync(fd.get()); }) != 0) {
    return Failure("sync directory", full_path, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<FileInfo> PosixFileSystem::Stat(std::string_view path) const {
  const std::string full_path = FullPath(path);
  CAPSTAN_RETURN_IF_ERROR(ValidatePath(path));
  struct stat info = {};
  if (path.empty()) {
    if (fstat(root_fd_, &info) != 0) return Failure("stat", full_path, errno);
  } else {
    const absl::StatusOr<Entry> entry =
        OpenEntry(root_fd_, path, "stat", full_path);
    CAPSTAN_RETURN_IF_ERROR(entry.status());
    if (fstatat(entry->directory.get(), entry->name.c_str(), &info,
                AT_SYMLINK_NOFOLLOW) != 0) {
      return Failure("stat", full_path, errno);
    }
  }
  const FileKind kind = KindOf(info.st_mode);
  return FileInfo{
      .kind = kind,
      .size = kind == FileKind::kFile ? static_cast<uint64_t>(info.st_size) : 0,
      .mode = info.st_mode & 07777u};
}

}  // namespace capstan
