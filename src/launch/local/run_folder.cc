#include "launch/local/run_folder.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/file/posix_file_system.h"
#include "base/status.h"

namespace capstan {
namespace {

constexpr char kRuns[] = "runs";
constexpr char kLogs[] = "logs";
constexpr char kOver[] = "over";

std::string LogName(TaskId task) {
  return fmt::format("{}-{}.log", RoleName(task.role), task.index);
}

}  // namespace

RunFolder::RunFolder(std::string name, std::unique_ptr<FileSystem> runs)
    : name_(std::move(name)),
      path_(JoinPath(kRuns, name_)),
      runs_(std::move(runs)) {}

absl::StatusOr<RunFolder> RunFolder::Create(const std::string& parent,
                                            WallTime now, pid_t pid) {
  auto here = PosixFileSystem::Open(parent);
  CAPSTAN_RETURN_IF_ERROR(here.status());
  const absl::Status made = (*here)->CreateDir(kRuns);
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  // Opened by name, because it may be a link to a disk with more space.
  auto runs = PosixFileSystem::Open(absl::StrCat(parent, "/", kRuns));
  CAPSTAN_RETURN_IF_ERROR(runs.status());

  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  std::string name = fmt::format(
      "{:%Y%m%d-%H%M%S}-{}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)), pid);
  CAPSTAN_RETURN_IF_ERROR((*runs)->CreateDir(name));
  CAPSTAN_RETURN_IF_ERROR((*runs)->CreateDir(JoinPath(name, kLogs)));
  return RunFolder(std::move(name), *std::move(runs));
}

absl::Status RunFolder::WriteCluster(const ClusterSpec& spec,
                                     std::string_view job_id) {
  // JSON is YAML. The quotes keep an id of digits from being a number.
  const std::string text =
      fmt::format("job_id: \"{}\"\ncluster: {}\n", job_id, spec.ToJson());
  return ReplaceFile(*runs_, JoinPath(name_, "cluster.yaml"), AsBytes(text));
}

std::string RunFolder::OverPath() const { return JoinPath(path_, kOver); }

bool RunFolder::IsOver() const {
  return runs_->Exists(JoinPath(name_, kOver)).value_or(false);
}

absl::Status RunFolder::WriteResult(const RunResult& result) {
  const std::string text = FormatRunResult(result);
  return ReplaceFile(*runs_, JoinPath(name_, "result"), AsBytes(text));
}

std::string RunFolder::LogPath(TaskId task) const {
  return JoinPath(JoinPath(path_, kLogs), LogName(task));
}

absl::StatusOr<std::unique_ptr<WritableFile>> RunFolder::CreateLog(
    TaskId task) {
  return runs_->CreateForWrite(JoinPath(JoinPath(name_, kLogs), LogName(task)),
                               IfExists::kFail);
}

}  // namespace capstan
