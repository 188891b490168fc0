// The seam to the disk: posix_file_system.h is the real one,
// sim_file_system.h the simulated one, and one contract test covers both.
//
// Paths. A FileSystem is one tree of files. A path is relative to its root,
// with '/' between names: "ckpt/12/manifest.json"; "" is the root itself. A
// path with an empty name, ".", ".." or a NUL in it is refused, and so is one
// that leads through a symbolic link: no path leaves the tree.
//
// Durability. Power may fail at any moment. What is then left for certain is
// the content of each file as of its last Sync, and the names in each
// directory as of its last SyncDir. Of what was done since, any part may be
// left: appended bytes wholly, in part or as zeros; changes of different names
// of a directory in any order (those of one name in theirs). A rename is left
// wholly or not at all. A new file is thus safe once it is synced and so is
// every directory on its path that is new.
//
// Errors name the path. Each method lists the codes of its own; any may also
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
// After a failure of Append or Sync nobody knows what the file holds: a second
// fsync may report success although the first lost the data. Such a file
// answers every further Append and Sync with FailedPrecondition; write another.
class WritableFile {
 public:
  // Closes the file if it is open, ignoring errors; does not sync it.
  virtual ~WritableFile() = default;

  // Writes all of `data` at the end of the file. On failure any part of it may
  // have been written.
  virtual absl::Status Append(Bytes data) = 0;

  // Makes all that was appended durable. (Not the file's name: see SyncDir.)
  virtual absl::Status Sync() = 0;

  // Closes the file, whatever is returned; does not sync it. Any later call
  // returns FailedPrecondition.
  virtual absl::Status Close() = 0;
};

enum class FileKind { kFile, kDirectory, kOther };

struct FileInfo {
  FileKind kind = FileKind::kFile;
  // In bytes; of files only.
  uint64_t size = 0;
  // The permission bits, such as 0600.
  uint32_t mode = 0;
};

// What CreateForWrite does if the file is there already.
enum class IfExists { kFail, kTruncate };

// Thread-safe, unless an implementation says otherwise. Calls block. Files
// must not outlive the FileSystem that opened them.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Opens a file. NotFound if there is none.
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(
      std::string_view path) const = 0;

  // Creates a file, readable and writable for its owner alone. If it is there:
  // AlreadyExists, or its content is dropped (its permissions stay). NotFound
  // if the directory is missing.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> CreateForWrite(
      std::string_view path, IfExists if_exists) = 0;

  // Opens a file to add to it. NotFound if there is none.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(
      std::string_view path) = 0;

  // Gives the file or directory `from` the name `to`, atomically. Both must be
  // in the same directory, as only then one SyncDir makes the change durable;
  // else InvalidArgument. A file replaces a file, a directory an empty
  // directory; any other pair is FailedPrecondition. NotFound if there is no
  // `from`.
  virtual absl::Status Rename(std::string_view from, std::string_view to) = 0;

  // Removes a file. NotFound if there is none.
  virtual absl::Status Remove(std::string_view path) = 0;

  // Creates a directory, accessible to its owner alone. AlreadyExists if there
  // is anything of that name, NotFound if the directory above is missing.
  virtual absl::Status CreateDir(std::string_view path) = 0;

  // Removes a directory. NotFound if there is none, FailedPrecondition if it
  // is not empty.
  virtual absl::Status RemoveDir(std::string_view path) = 0;

  // The names in a directory, sorted by their bytes. NotFound if there is no
  // such directory.
  virtual absl::StatusOr<std::vector<std::string>> List(
      std::string_view path) const = 0;

  // Makes durable which names the directory holds. NotFound if there is no
  // such directory.
  virtual absl::Status SyncDir(std::string_view path) = 0;

  // What `path` is. NotFound if it is nothing.
  virtual absl::StatusOr<FileInfo> Stat(std::string_view path) const = 0;

  // Whether `path` is anything.
  absl::StatusOr<bool> Exists(std::string_view path) const;
};

// The content of a file. ResourceExhausted, before anything is allocated, if
// it is larger than `max_size`.
absl::StatusOr<std::string> ReadFile(const FileSystem& files,
                                     std::string_view path, uint64_t max_size);

// Makes `content` the content of `path`, which need not exist: a reader, and a
// restart after a crash, find the old content or the new, never a mixture. The
// new is durable on return. On failure the old is left, or, if the last SyncDir
// failed, either. Uses, and removes, the file `path`.tmp: one writer at a time.
absl::Status ReplaceFile(FileSystem& files, std::string_view path,
                         Bytes content);

// "a/b" and "c" make "a/b/c"; "" and "c" make "c".
std::string JoinPath(std::string_view directory, std::string_view name);

// "a/b" of "a/b/c"; "" of "c". And "c" of both.
std::string_view DirectoryOf(std::string_view path);
std::string_view NameOf(std::string_view path);

// InvalidArgument if `path` breaks the rules above, has a name longer than 255
// bytes or is longer than 4,000. For implementations: each method checks.
absl::Status ValidatePath(std::string_view path);

// The error that `verb` on `path` failed for `reason`: `open "a/b": no such
// file`. For implementations.
absl::Status FileError(absl::StatusCode code, std::string_view verb,
                       std::string_view path, std::string_view reason);

}  // namespace capstan
