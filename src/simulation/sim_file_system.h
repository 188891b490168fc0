// A simulated disk: in memory, for one simulated node, with exactly the
// durability that file_system.h promises and no more.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/file_system.h"
#include "base/random.h"

namespace capstan {

// Starts empty. Not thread-safe: a simulation has one thread. Files may outlive
// it. The same calls, with the same Random at each crash, give the same
// results.
//
// Every call of a FileSystem or file method, including Exists, is an operation;
// operations are numbered from 1. A test finds the operations of some code by
// running it once, and then makes it fail at each of them in turn.
class SimFileSystem final : public FileSystem {
 public:
  SimFileSystem();
  ~SimFileSystem() override;
  SimFileSystem(const SimFileSystem&) = delete;
  SimFileSystem& operator=(const SimFileSystem&) = delete;

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(
      std::string_view path) const override;
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateForWrite(
      std::string_view path, IfExists if_exists) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(
      std::string_view path) override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status Remove(std::string_view path) override;
  absl::Status CreateDir(std::string_view path) override;
  absl::Status RemoveDir(std::string_view path) override;
  absl::StatusOr<std::vector<std::string>> List(
      std::string_view path) const override;
  absl::Status SyncDir(std::string_view path) override;
  absl::StatusOr<FileInfo> Stat(std::string_view path) const override;

  // The power fails and comes back: what was not synced is lost, wholly or in
  // part, as `random` decides. About a quarter of crashes lose all of it and a
  // quarter none. Files that were open return FailedPrecondition from every
  // further call. Injected failures and the capacity stay as they are.
  void Crash(Random& random);

  // From now on an Append that would make the total size of the files exceed
  // `bytes` writes what fits and fails with ResourceExhausted. Initially
  // unlimited. Directories cost nothing.
  void SetCapacity(uint64_t bytes);

  // The total size of the files.
  uint64_t used_bytes() const;

  // The number of operations so far.
  uint64_t operations() const;

  // Makes that operation fail with `status` and do nothing (except that Close
  // still closes). May be called for several operations.
  void FailOperation(uint64_t number, absl::Status status);

  // Makes that operation and all later ones fail, as if the process had died.
  void FailFrom(uint64_t number, absl::Status status);

  // Clears all injected failures that have not happened yet.
  void ClearFailures();

 private:
  struct Disk;
  class Readable;
  class Writable;

  // Shared with the open files, which may outlive this.
  const std::shared_ptr<Disk> disk_;
};

}  // namespace capstan
