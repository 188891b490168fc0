#include "cluster/file_resolver.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file/file_system.h"
#include "base/file/posix_file_system.h"
#include "base/status.h"
#include "cluster/cluster_spec.h"
#include "cluster/resolve.h"
#include "cluster/task_id.h"
#include "cluster/text.h"

namespace capstan {
namespace {

constexpr uint64_t kMaxFileSize = 1 << 20;
constexpr std::array<std::string_view, 4> kKeys = {"cluster", "job_id", "task",
                                                   "rpc_layer"};

// Prefixes `status` with the file and, given a YAML node, its line.
class Place {
 public:
  explicit Place(std::string_view file) : file_(file) {}

  absl::Status At(const YAML::Node& node, const absl::Status& status) const {
    return At(node.Mark(), status);
  }
  absl::Status At(const YAML::Mark& mark, const absl::Status& status) const {
    if (mark.is_null()) return WithContext(status, file_);
    return WithContext(status, fmt::format("{}:{}", file_, mark.line + 1));
  }

 private:
  std::string file_;
};

absl::StatusOr<std::string> ReadText(const Place& place, const YAML::Node& node,
                                     std::string_view what,
                                     std::string_view example) {
  if (node.IsScalar() && !node.Scalar().empty()) return node.Scalar();
  return place.At(node, Invalid("{} is not a text: write {}", what, example));
}

// The entries of a map, whose keys must be distinct texts.
absl::StatusOr<std::vector<std::pair<YAML::Node, YAML::Node>>> ReadMap(
    const Place& place, const YAML::Node& node, std::string_view what,
    std::string_view example) {
  if (!node.IsMap()) {
    return place.At(node, Invalid("{} is not a map: write {}", what, example));
  }
  std::vector<std::pair<YAML::Node, YAML::Node>> entries;
  std::set<std::string> keys;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) {
      return place.At(entry.first,
                      Invalid("{} has a key that is not a text", what));
    }
    if (!keys.insert(entry.first.Scalar()).second) {
      return place.At(entry.first, Invalid("the key {} is there twice: keep "
                                           "one of them",
                                           Quoted(entry.first.Scalar())));
    }
    entries.emplace_back(entry.first, entry.second);
  }
  return entries;
}

// Reads the address of one task and adds it to `tasks`.
absl::Status ReadAddress(const Place& place, TaskId task,
                         const YAML::Node& node, ClusterSpec::Tasks& tasks) {
  const std::string name = task.ToString();
  const absl::StatusOr<std::string> address =
      ReadText(place, node, name, R"(host:port, or "[v6]:port" in quotes)");
  CAPSTAN_RETURN_IF_ERROR(address.status());
  // Checked here, where the line number is known.
  const absl::Status sound =
      MakeClusterSpec({{task.role, {{task.index, *address}}}}).status();
  if (!sound.ok()) return place.At(node, sound);
  if (!tasks.emplace(task.index, *address).second) {
    return place.At(node, Invalid("{} is there twice: keep one of them", name));
  }
  return absl::OkStatus();
}

absl::Status ReadSparseJob(const Place& place, Role role,
                           const YAML::Node& node, ClusterSpec::Tasks& tasks) {
  const auto entries = ReadMap(place, node, RoleName(role), "0: host:port");
  CAPSTAN_RETURN_IF_ERROR(entries.status());
  for (const auto& [key, value] : *entries) {
    const std::optional<int> index =
        ParseWhole(key.Scalar(), 0, TaskId::kMaxIndex);
    if (!index.has_value()) {
      return place.At(key, Invalid("{} is not an index from 0 to {}",
                                   Quoted(key.Scalar()), TaskId::kMaxIndex));
    }
    CAPSTAN_RETURN_IF_ERROR(ReadAddress(place, {role, *index}, value, tasks));
  }
  return absl::OkStatus();
}

absl::Status ReadJob(const Place& place, Role role, const YAML::Node& node,
                     ClusterSpec::Tasks& tasks) {
  if (node.IsMap()) return ReadSparseJob(place, role, node, tasks);
  if (!node.IsSequence()) {
    return place.At(
        node, Invalid("{} is not a list: write [host:port]", RoleName(role)));
  }
  for (const YAML::Node& address : node) {
    const int index = static_cast<int>(tasks.size());
    CAPSTAN_RETURN_IF_ERROR(ReadAddress(place, {role, index}, address, tasks));
  }
  return absl::OkStatus();
}

absl::Status ReadCluster(const Place& place, const YAML::Node& node,
                         ResolvedCluster& resolved) {
  const auto entries = ReadMap(place, node, "cluster", "chief: [host:port]");
  CAPSTAN_RETURN_IF_ERROR(entries.status());
  ClusterSpec::Jobs jobs;
  for (const auto& [key, value] : *entries) {
    const absl::StatusOr<Role> role = ParseJobName(key.Scalar());
    if (!role.ok()) return place.At(key, role.status());
    CAPSTAN_RETURN_IF_ERROR(ReadJob(place, *role, value, jobs[*role]));
  }
  absl::StatusOr<ClusterSpec> spec = MakeClusterSpec(std::move(jobs));
  if (!spec.ok()) return place.At(node, spec.status());
  resolved.spec = *std::move(spec);
  return absl::OkStatus();
}

absl::Status ReadEntry(const Place& place, const YAML::Node& key,
                       const YAML::Node& value, ResolvedCluster& resolved) {
  const std::string& name = key.Scalar();
  if (name == "cluster") return ReadCluster(place, value, resolved);
  if (std::find(kKeys.begin(), kKeys.end(), name) == kKeys.end()) {
    return place.At(key,
                    Invalid("unknown key {}: the keys are {}{}", Quoted(name),
                            Joined(kKeys), DidYouMean(name, kKeys)));
  }
  const absl::StatusOr<std::string> text =
      ReadText(place, value, name, name == "task" ? "worker/0" : "a name");
  CAPSTAN_RETURN_IF_ERROR(text.status());
  if (name == "job_id") resolved.job_id = *text;
  if (name == "task") {
    const absl::StatusOr<TaskId> task = ParseTaskId(*text);
    if (!task.ok()) return place.At(value, task.status());
    resolved.task = *task;
  }
  if (name == "rpc_layer" && !IsKnownRpcLayer(*text)) {
    return place.At(value, Invalid("unknown rpc_layer {}: leave it out, or "
                                   "write capstan",
                                   Quoted(*text)));
  }
  return absl::OkStatus();
}

absl::Status ReadDocument(const Place& place, const YAML::Node& root,
                          ResolvedCluster& resolved) {
  const auto entries =
      ReadMap(place, root, "the file", "cluster: {chief: [host:port], ...}");
  CAPSTAN_RETURN_IF_ERROR(entries.status());
  for (const auto& [key, value] : *entries) {
    CAPSTAN_RETURN_IF_ERROR(ReadEntry(place, key, value, resolved));
  }
  return absl::OkStatus();
}

// Keeps the line on which a document starts, and ignores what is in it.
class DocumentStart final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  const YAML::Mark& mark() const { return mark_; }

 private:
  YAML::Mark mark_;
};

// YAML::Load stops after the first document. YAML::LoadAll does not, but never
// returns if, for example, a comma follows it; so try one step past the first.
absl::Status CheckOneDocument(const Place& place, const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStart start;
  if (!parser.HandleNextDocument(start) || !parser.HandleNextDocument(start)) {
    return absl::OkStatus();
  }
  return place.At(start.mark(),
                  Invalid("more follows what should be the only document: "
                          "remove it"));
}

// FileSystem follows no symbolic links, but a file that Kubernetes mounts from
// a ConfigMap is one; so resolve the links first.
absl::StatusOr<std::string> ReadFollowingLinks(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) {
    return FileError(error == std::errc::no_such_file_or_directory
                         ? absl::StatusCode::kNotFound
                         : absl::StatusCode::kFailedPrecondition,
                     "open", path, error.message());
  }
  const auto directory = PosixFileSystem::Open(real.parent_path().string());
  CAPSTAN_RETURN_IF_ERROR(directory.status());
  return ReadFile(**directory, real.filename().string(), kMaxFileSize);
}

}  // namespace

absl::StatusOr<ResolvedCluster> ParseClusterFile(std::string_view text,
                                                 std::string_view name) {
  const Place place(name);
  ResolvedCluster resolved;
  resolved.source = name;
  try {
    CAPSTAN_RETURN_IF_ERROR(CheckOneDocument(place, std::string(text)));
    const YAML::Node root = YAML::Load(std::string(text));
    CAPSTAN_RETURN_IF_ERROR(ReadDocument(place, root, resolved));
  } catch (const YAML::Exception& error) {
    return place.At(error.mark, Invalid("not YAML: {}", error.msg));
  }
  return resolved;
}

absl::StatusOr<ResolvedCluster> ReadClusterFile(
    const std::string& path, const Environment& environment,
    const ClusterOverrides& overrides) {
  const absl::StatusOr<std::string> text = ReadFollowingLinks(path);
  if (!text.ok()) return WithContext(text.status(), "cluster file");
  absl::StatusOr<ResolvedCluster> resolved = ParseClusterFile(*text, path);
  CAPSTAN_RETURN_IF_ERROR(resolved.status());
  CAPSTAN_RETURN_IF_ERROR(ApplyTaskVariable(environment, overrides, *resolved));
  CAPSTAN_RETURN_IF_ERROR(ApplyOverrides(overrides, *resolved));
  return resolved;
}

FileClusterResolver::FileClusterResolver(std::string path,
                                         ClusterOverrides overrides,
                                         Environment environment)
    : path_(std::move(path)),
      overrides_(std::move(overrides)),
      environment_(std::move(environment)) {}

ResolvedCluster FileClusterResolver::Read() const {
  return ValueOrThrow(ReadClusterFile(path_, environment_, overrides_));
}

}  // namespace capstan
