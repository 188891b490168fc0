#include "dataset/input_file.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "base/status.h"
#include "dataset/cat.h"
#include "dataset/gunzip.h"

namespace capstan {
namespace {

absl::Status Failed(int error, std::string_view verb, const std::string& path) {
  return absl::ErrnoToStatus(error, Cat(verb, " \"", path, "\""));
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

absl::StatusOr<std::string> ReadAll(const std::string& path, uint64_t most) {
  absl::StatusOr<std::unique_ptr<ReadableFile>> file = OpenInputFile(path);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  absl::StatusOr<uint64_t> size = (*file)->Size();
  CAPSTAN_RETURN_IF_ERROR(size.status());
  std::string content;
  try {
    content.resize(std::min(*size, most));
  } catch (const std::exception&) {
    return absl::ResourceExhaustedError(
        Cat("no memory for the ", *size, " bytes of \"", path, "\""));
  }
  absl::StatusOr<size_t> read = (*file)->ReadAt(
      0, std::as_writable_bytes(std::span(content.data(), content.size())));
  CAPSTAN_RETURN_IF_ERROR(read.status());
  content.resize(*read);
  return content;
}

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
    // Their order in glob depends on the locale.
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

absl::StatusOr<std::string> ReadInputFile(const std::string& path) {
  return ReadInputStart(path, std::numeric_limits<size_t>::max());
}

absl::StatusOr<std::string> ReadInputStart(const std::string& path,
                                           size_t size) {
  // What is compressed may be longer than it will be, by a few bytes.
  const uint64_t most = size > SIZE_MAX / 2 ? SIZE_MAX : size + 4096;
  absl::StatusOr<std::string> content = ReadAll(path, most);
  CAPSTAN_RETURN_IF_ERROR(content.status());
  if (!IsGzip(*content)) {
    if (content->size() > size) content->resize(size);
    return content;
  }
  absl::StatusOr<std::string> plain = Gunzip(*content, size);
  return plain.ok() ? plain : WithContext(plain.status(), path);
}

}  // namespace capstan
