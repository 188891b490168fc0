// Writes the snapshots of the servers to the files of a checkpoint. Blocks, on
// one of the caller's threads.
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

// The names of the directories that lead from the servers' root to `directory`.
// Not valid if `directory` is not below the root or servers would refuse the
// names; `why` says which.
struct SharedPath {
  bool valid = false;
  std::vector<std::string> names;
  std::string why;
};
// Both as the user gave them. An empty root means that there is none.
SharedPath PathBelow(const std::string& root, const std::string& directory);

// A file in `path` with content that nobody else knows, by which a server
// verifies that it sees the same directory. Removed by the destructor.
class DirectoryProbe {
 public:
  // made() is false if the file cannot be created.
  DirectoryProbe(FileSystem& files, std::string path, uint64_t content);
  ~DirectoryProbe();
  DirectoryProbe(const DirectoryProbe&) = delete;
  DirectoryProbe& operator=(const DirectoryProbe&) = delete;

  bool made() const { return made_; }
  // The directory, as requests to servers name it.
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
  std::shared_ptr<Cancellation> until_lost;  // on a server's loss; may be null
  ShardMap map;
  std::vector<SnapshotReply> servers;
  std::vector<SavedVariable> variables;
};

// Writes one file for each server that has shards, all in parallel: the server
// writes it if it sees the directory; else this process reads the snapshot from
// the server and writes it.
struct SnapshotFiles {
  std::vector<SavedFile> files;
  bool streamed = false;  // whether at least one came through this process
};
absl::StatusOr<SnapshotFiles> WriteSnapshot(const SnapshotToWrite& snapshot,
                                            FileSystem& files,
                                            const NewCheckpoint& into,
                                            const SharedPath& shared);

}  // namespace capstan
