// Brings the snapshots of the servers into the files of a checkpoint. Blocks,
// on a thread of the caller's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/async/cancellation.h"
#include "base/async/task.h"
#include "base/file/file_system.h"
#include "checkpoint/directory.h"
#include "checkpoint/manifest.h"
#include "client/parameter_client.h"
#include "variable/shard_map.h"
#include "wire/snapshot.h"

namespace capstan {

// The names of the directories that lead from the servers' root to `directory`;
// not valid if it is elsewhere, or servers would refuse the names: then `why`
// says so.
struct SharedPath {
  bool valid = false;
  std::vector<std::string> names;
  std::string why;
};
// Both as a user gives them. A root that is empty is none.
SharedPath PathBelow(const std::string& root, const std::string& directory);

// A file in `path` whose content nobody else knows, by which a server finds out
// that it sees the same directory. Removed by the destructor.
class DirectoryProbe {
 public:
  // None if it cannot be made.
  DirectoryProbe(FileSystem& files, std::string path, uint64_t content);
  ~DirectoryProbe();
  DirectoryProbe(const DirectoryProbe&) = delete;
  DirectoryProbe& operator=(const DirectoryProbe&) = delete;

  bool made() const { return made_; }
  // The directory as servers are told of it.
  SharedDirectory Directory(const SharedPath& path) const;

 private:
  FileSystem& files_;
  const std::string path_;
  const std::string content_;
  bool made_ = false;
};

struct SnapshotToWrite {
  Executor executor;  // of the client; another thread runs it
  ParameterClient* client = nullptr;
  Fence fence;
  uint64_t save_id = 0;
  std::shared_ptr<Cancellation> until_lost;  // a server; may be null
  ShardMap map;
  std::vector<SnapshotReply> servers;
  std::vector<SavedVariable> variables;
};

// Writes one file for each server that has something, all at once: by the
// server itself if it sees the directory, else by reading from it.
struct SnapshotFiles {
  std::vector<SavedFile> files;
  bool streamed = false;  // at least one was
};
absl::StatusOr<SnapshotFiles> WriteSnapshot(const SnapshotToWrite& snapshot,
                                            FileSystem& files,
                                            const NewCheckpoint& into,
                                            const SharedPath& shared);

}  // namespace capstan
