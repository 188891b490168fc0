// Which checkpoints there are in a directory that another process writes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file/file_system.h"

namespace capstan {

// A checkpoint. The name alone does not say which: a directory that was emptied
// begins with ckpt-1 again.
struct FoundCheckpoint {
  std::string name;
  std::string save_id;  // in hex, as its manifest has it; empty if not known

  // Names are no numbers in hex.
  const std::string& key() const { return save_id.empty() ? name : save_id; }
};

// Not thread-safe. Functions block, and throw what the disk does not give.
class CheckpointWatch {
 public:
  // Throws kNotFound if there is no such directory.
  explicit CheckpointWatch(const std::string& directory);

  // All that are there now, the oldest first.
  std::vector<FoundCheckpoint> Look();

  // Whether another one has its name now.
  bool IsReplaced(const FoundCheckpoint& found) const;

 private:
  std::string SaveId(const std::string& name) const;

  const std::unique_ptr<FileSystem> files_;
  std::vector<FoundCheckpoint> last_;  // that were there
};

}  // namespace capstan
