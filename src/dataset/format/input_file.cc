#include "dataset/format/input_file.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/cat.h"
#include "base/file/open_files.h"

namespace capstan {
namespace {

absl::Status Failed(int error, std::string_view verb, const std::string& path) {
  const absl::Status status =
      absl::ErrnoToStatus(error, Cat(verb, " \"", path, "\""));
  return absl::Status(status.code(),
                      Cat(status.message(), OpenFilesRemedy(error)));
}

class InputFile final : public ReadableFile {
 public:
  InputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~InputFile() override { close(fd_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  absl::StatusOr<size_t> ReadAt(uint64_t offset,
                                MutableBytes buffer) const override {
    size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t got = pread(fd_, buffer.data() + done, buffer.size() - done,
                                static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failed(errno, "read", path_);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

  absl::StatusOr<uint64_t> Size() const override {
    struct stat found = {};
    if (fstat(fd_, &found) != 0) return Failed(errno, "stat", path_);
    return static_cast<uint64_t>(found.st_size);
  }

 private:
  const std::string path_;
  const int fd_;
};

}  // namespace

absl::StatusOr<std::vector<std::string>> MatchFiles(
    const std::string& pattern) {
  glob_t found = {};
  const int result = glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> paths;
  if (result == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  if (result == 0 || result == GLOB_NOMATCH) {
    // glob's order depends on the locale.
    std::sort(paths.begin(), paths.end());
    if (!paths.empty()) return paths;
    return absl::NotFoundError(Cat("no file matches \"", pattern, "\""));
  }
  return absl::UnavailableError(
      Cat("cannot look for files like \"", pattern, "\""));
}

absl::StatusOr<std::unique_ptr<ReadableFile>> OpenInputFile(
    const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Failed(errno, "open", path);
  auto file = std::make_unique<InputFile>(path, fd);
  struct stat found = {};
  if (fstat(fd, &found) != 0) return Failed(errno, "stat", path);
  if (S_ISDIR(found.st_mode)) {
    return absl::FailedPreconditionError(
        Cat("\"", path, "\" is a directory, not a file"));
  }
  return file;
}

}  // namespace capstan
