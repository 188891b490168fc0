// Where a local job's run keeps its files.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/file/file_system.h"
#include "capstan/cluster_spec.h"
#include "launch/local/run_result.h"

namespace capstan {

// The new folder runs/<time>-<pid>, accessible to the user alone: it holds
// cluster.yaml, the folder logs, and at the end of the job the files over and
// result. Not thread-safe.
class RunFolder {
 public:
  // Creates it, and runs/ if that is missing, in the folder `parent`. The name
  // is the time in UTC and the process: "20231115-222901-1778". Fails like
  // FileSystem::CreateDir.
  static absl::StatusOr<RunFolder> Create(const std::string& parent,
                                          WallTime now, pid_t pid);

  // "runs/20231115-222901-1778": relative to `parent`.
  const std::string& path() const { return path_; }

  // Writes cluster.yaml in the format of FileClusterResolver, for programs that
  // inspect the job from outside.
  absl::Status WriteCluster(const ClusterSpec& spec, std::string_view job_id);

  // "runs/20231115-222901-1778/over", which the chief creates when it tells the
  // tasks that the job has ended; and whether the chief has created it.
  std::string OverPath() const;
  bool IsOver() const;

  // Writes result, which ReadRunResult reads: the job has ended.
  absl::Status WriteResult(const RunResult& result);

  // "runs/20231115-222901-1778/logs/worker-1.log".
  std::string LogPath(TaskId task) const;

  // Creates the log of a task. The file must not outlive this object.
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateLog(TaskId task);

 private:
  RunFolder(std::string name, std::unique_ptr<FileSystem> runs);

  std::string name_;
  std::string path_;
  std::unique_ptr<FileSystem> runs_;
};

}  // namespace capstan
