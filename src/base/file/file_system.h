// The seam to the disk: posix_file_system.h is the real one,
// sim_file_system.h the simulated one, and one contract test covers both.
//
// Paths. A FileSystem is one tree of files. A path is relative to its root,
// with '/' between names: "ckpt/12/manifest.json"; "" is the root itself. A
// path that contains an empty name, ".", ".." or a NUL is refused, and so is
// one that leads through a symbolic link: no path leaves the tree.
//
// Durability. Power may fail at any moment. All that is then guaranteed to be
// left is the content of each file as of its last Sync, and the names in each
// directory as of its last SyncDir. Any part of what was done since may be
// left: appended bytes wholly, in part or as zeros; changes of different names
// in a directory in any order (those of the same name in order). A rename is
// left wholly or not at all. So a new file is safe once it and every new
// directory on its path have been synced.
//
// Errors name the path. Each method lists its specific codes; any may also
// return InvalidArgument (refused path), FailedPrecondition (a file where a
// directory was expected, or the reverse, or a symbolic link),
// PermissionDenied, ResourceExhausted (disk full, too many open files) and
// DataLoss (the device failed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace capstan {

// A file open for reading. Thread-safe. Stays readable after its name is
// removed or replaced. Closed by its destructor.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  // Reads from `offset` into `buffer` until it is full or the file ends.
  // Returns the number of bytes read: less than asked for only at the end of
  // the file, 0 at or beyond it.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset,
                                        MutableBytes buffer) const = 0;

  // The size of the file now, in bytes.
  virtual absl::StatusOr<uint64_t> Size() const = 0;
};

// A file open for writing at its end. Not thread-safe.
//
// After Append or Sync has failed, the content of the file is unknown: a second
// fsync may report success although the first lost the data. Every further
// Append and Sync on it returns FailedPrecondition; write another file.
class WritableFile {
 public:
  // Closes the file if it is open, ignoring errors; does not sync it.
  virtual ~WritableFile() = default;

  // Writes all of `data` at the end of the file. On failure any part of it may
  // have been written.
  virtual absl::Status Append(Bytes data) = 0;

  // Makes everything appended so far durable. (Not the file's name: see
  // SyncDir.)
  virtual absl::Status Sync() = 0;

  // Closes the file, even if it returns an error; does not sync it. Any later
  // call returns FailedPrecondition.
  virtual absl::Status Close() = 0;
};

enum class FileKind { kFile, kDirectory, kOther };

struct FileInfo {
  FileKind kind = FileKind::kFile;
  // In bytes; for files only.
  uint64_t size = 0;
  // The permission bits, such as 0600.
  uint32_t mode = 0;
};

// What CreateForWrite does if the file already exists.
enum class IfExists { kFail, kTruncate };

// Thread-safe, unless an implementation says otherwise. Calls block. Files
// must not outlive the FileSystem that opened them.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Opens a file. NotFound if it does not exist.
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(
      std::string_view path) const = 0;

  // Creates a file that only its owner can read and write. If it already
  // exists: AlreadyExists, or truncates it (its permissions stay). NotFound if
  // the directory is missing.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> CreateForWrite(
      std::string_view path, IfExists if_exists) = 0;

  // Opens a file for appending. NotFound if it does not exist.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(
      std::string_view path) = 0;

  // Renames the file or directory `from` to `to`, atomically. Both must be in
  // the same directory, since only then does one SyncDir make the change
  // durable; otherwise InvalidArgument. A file may replace a file, and a
  // directory an empty directory; any other pair is FailedPrecondition.
  // NotFound if `from` does not exist.
  virtual absl::Status Rename(std::string_view from, std::string_view to) = 0;

  // Removes a file. NotFound if it does not exist.
  virtual absl::Status Remove(std::string_view path) = 0;

  // Creates a directory that only its owner can access. AlreadyExists if
  // anything has that name, NotFound if the parent directory is missing.
  virtual absl::Status CreateDir(std::string_view path) = 0;

  // Removes a directory. NotFound if it does not exist, FailedPrecondition if
  // it is not empty.
  virtual absl::Status RemoveDir(std::string_view path) = 0;

  // The names in a directory, sorted bytewise. NotFound if the directory does
  // not exist.
  virtual absl::StatusOr<std::vector<std::string>> List(
      std::string_view path) const = 0;

  // Makes the directory's entries durable (the names, not the files' content).
  // NotFound if the directory does not exist.
  virtual absl::Status SyncDir(std::string_view path) = 0;

  // What `path` is. NotFound if it does not exist.
  virtual absl::StatusOr<FileInfo> Stat(std::string_view path) const = 0;

  // Whether anything exists at `path`.
  absl::StatusOr<bool> Exists(std::string_view path) const;
};

// The content of a file. ResourceExhausted, before anything is allocated, if it
// is larger than `max_size`.
absl::StatusOr<std::string> ReadFile(const FileSystem& files,
                                     std::string_view path, uint64_t max_size);

// Makes `content` the content of `path`, which need not exist. Readers, and a
// restart after a crash, see the old content or the new, never a mixture. The
// new content is durable on return. On failure the old content remains; if the
// last SyncDir failed, either may. Uses and removes the file `path`.tmp, so
// only one writer at a time.
absl::Status ReplaceFile(FileSystem& files, std::string_view path,
                         Bytes content);

// "a/b" and "c" make "a/b/c"; "" and "c" make "c".
std::string JoinPath(std::string_view directory, std::string_view name);

// "a/b" for "a/b/c" and "" for "c"; NameOf gives "c" for both.
std::string_view DirectoryOf(std::string_view path);
std::string_view NameOf(std::string_view path);

// InvalidArgument if `path` breaks the rules above, has a name longer than 255
// bytes or is longer than 4,000. For implementations: each method calls it.
absl::Status ValidatePath(std::string_view path);

// The error when `verb` on `path` failed for `reason`: `open "a/b": no such
// file`. For implementations.
absl::Status FileError(absl::StatusCode code, std::string_view verb,
                       std::string_view path, std::string_view reason);

}  // namespace capstan
