// Watches the checkpoints in a directory that another process writes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file/file_system.h"

namespace capstan {

// A checkpoint. The name alone does not identify it: after a directory is
// emptied, names start from ckpt-1 again.
struct FoundCheckpoint {
  std::string name;
  std::string save_id;  // in hex, from the manifest; empty if unknown

  // Unambiguous, because names are not hex numbers.
  const std::string& key() const { return save_id.empty() ? name : save_id; }
};

// Not thread-safe. Functions block, and throw on errors of the disk.
class CheckpointWatch {
 public:
  // Throws kNotFound if the directory does not exist.
  explicit CheckpointWatch(const std::string& directory);

  // All current checkpoints, oldest first.
  std::vector<FoundCheckpoint> Look();

  // Whether the name now belongs to another checkpoint.
  bool IsReplaced(const FoundCheckpoint& found) const;

 private:
  std::string SaveId(const std::string& name) const;

  const std::unique_ptr<FileSystem> files_;
  std::vector<FoundCheckpoint> last_;  // result of the last Look
};

}  // namespace capstan
