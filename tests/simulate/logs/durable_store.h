// A log of records on a disk, such as a journal: acknowledged records survive
// every crash.
//
// On disk: the directory `log` with segments `log/000001`, `log/000002`, ...
// Each is created under another name, renamed when it is started, and only ever
// appended to. A record is its value (8 bytes) and the CRC-32C of that (4
// bytes). Anything after the first bad record of a segment was never
// acknowledged.
//
//   1. Append writes the record to the segment.
//   2. Sync makes it durable; only then may it be acknowledged.
//   3. A segment that has failed, or is full, is left as it is, and the next
//      one is started: written, synced, renamed, and its directory synced.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file/file_system.h"
#include "simulate/workload.h"

namespace capstan::simulate {

// Belongs to one process; a restart opens it again. Not thread-safe.
class DurableStore {
 public:
  // Reads the existing records, oldest first, and starts a new segment. `files`
  // must outlive the store.
  static absl::StatusOr<std::unique_ptr<DurableStore>> Open(FileSystem& files,
                                                            Plant plant);

  // The records that Open found.
  const std::vector<uint64_t>& found() const { return found_; }

  // Where a record was written.
  struct Place {
    uint64_t segment = 0;
    uint64_t index = 0;
  };
  // Writes a record, which is not durable until Sync.
  absl::StatusOr<Place> Append(uint64_t value);
  // Makes the record at `place`, and those before it, durable. Fails if the
  // record is lost.
  absl::Status Sync(Place place);

 private:
  DurableStore(FileSystem& files, Plant plant) : files_(files), plant_(plant) {}

  absl::Status Recover();
  absl::Status ReadSegment(const std::string& name);
  absl::Status BeginSegment();
  // The segment has failed: its unsynced records are lost.
  void GiveUpSegment();

  FileSystem& files_;
  const Plant plant_;
  std::vector<uint64_t> found_;
  // The segment in use; null after a failure.
  std::unique_ptr<WritableFile> segment_;
  uint64_t number_ = 0;
  uint64_t written_ = 0;  // records in it
  uint64_t durable_ = 0;  // of them
  // Segments that failed, and how many of their records are durable.
  std::map<uint64_t, uint64_t> failed_;
};

}  // namespace capstan::simulate
