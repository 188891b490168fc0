#include "cluster/tf_config_resolver.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/status.h"
#include "cluster/json.h"
#include "cluster/resolve.h"
#include "cluster/task_id.h"
#include "cluster/text.h"

namespace capstan {
namespace {

constexpr char kTfConfig[] = "TF_CONFIG";

// Our keys, and those that TensorFlow, Kubeflow and Vertex AI write.
constexpr std::array<std::string_view, 6> kTfConfigKeys = {
    "cluster", "task", "rpc_layer", "session_master", "environment", "job"};
constexpr std::array<std::string_view, 4> kTaskKeys = {"type", "index", "trial",
                                                       "cloud"};

void WarnOfUnknown(const Json& object, std::string_view where,
                   std::span<const std::string_view> known,
                   ResolvedCluster& resolved) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    resolved.warnings.push_back(
        fmt::format("{}: the key {}{} is not known and is ignored{}", kTfConfig,
                    where, Quoted(key), DidYouMean(key, known)));
  }
}

absl::StatusOr<Role> ReadType(const Json& task) {
  const auto type = task.find("type");
  if (type == task.end()) {
    return Invalid("task has no type; it is one of {}", Joined(kRoleNames));
  }
  if (!type->is_string()) {
    return Invalid("task.type is {}; it is one of {}, in quotes",
                   JsonText(*type), Joined(kRoleNames));
  }
  absl::StatusOr<Role> role = ParseRole(type->get_ref<const std::string&>());
  if (!role.ok()) return WithContext(role.status(), "task.type");
  return role;
}

// A number or, as TensorFlow accepts it, a string that holds one.
absl::StatusOr<int> ReadIndex(const Json& task) {
  const auto index = task.find("index");
  if (index == task.end()) {
    return Invalid("task has no index; add it, as \"index\": 0");
  }
  std::string digits;
  if (index->is_number_integer()) digits = index->dump();
  if (index->is_string()) digits = index->get<std::string>();
  const std::optional<int> number = ParseWhole(digits, 0, TaskId::kMaxIndex);
  if (!number.has_value()) {
    return Invalid("task.index is {}; write a whole number from 0 to {}",
                   JsonText(*index), TaskId::kMaxIndex);
  }
  return *number;
}

// What is overridden is not read.
absl::Status ReadTask(const Json& config, const ClusterOverrides& overrides,
                      ResolvedCluster& resolved) {
  std::optional<Role> type = overrides.task_type;
  std::optional<int> index = overrides.task_index;
  const auto task = config.find("task");
  if (task != config.end() && !(type.has_value() && index.has_value())) {
    if (!task->is_object()) {
      return Invalid("task is {}; write an object, as {}", JsonText(*task),
                     R"({"type": "worker", "index": 0})");
    }
    WarnOfUnknown(*task, "task.", kTaskKeys, resolved);
    if (!type.has_value()) {
      const absl::StatusOr<Role> read = ReadType(*task);
      CAPSTAN_RETURN_IF_ERROR(read.status());
      type = *read;
    }
    if (!index.has_value()) {
      const absl::StatusOr<int> read = ReadIndex(*task);
      CAPSTAN_RETURN_IF_ERROR(read.status());
      index = *read;
    }
  }
  const absl::StatusOr<std::optional<TaskId>> combined =
      CombineTask(type, index);
  CAPSTAN_RETURN_IF_ERROR(combined.status());
  resolved.task = *combined;
  return absl::OkStatus();
}

absl::Status ReadCluster(const Json& config, ResolvedCluster& resolved) {
  const auto cluster = config.find("cluster");
  if (cluster == config.end()) {
    return Invalid("no \"cluster\": add it, as {}",
                   R"({"cluster": {"chief": [...], "worker": [...], )"
                   R"("ps": [...]}, "task": {...}})");
  }
  absl::StatusOr<ClusterSpec> spec = ReadClusterJson(*cluster);
  CAPSTAN_RETURN_IF_ERROR(spec.status());
  resolved.spec = *std::move(spec);
  return absl::OkStatus();
}

absl::Status ReadConfig(std::string_view text,
                        const ClusterOverrides& overrides,
                        ResolvedCluster& resolved) {
  const absl::StatusOr<Json> config = ParseJson(text);
  CAPSTAN_RETURN_IF_ERROR(config.status());
  if (!config->is_object()) {
    return Invalid("it is {}; write an object, as {}", JsonText(*config),
                   R"({"cluster": {...}, "task": {...}})");
  }
  WarnOfUnknown(*config, "", kTfConfigKeys, resolved);
  if (!overrides.cluster.has_value()) {
    CAPSTAN_RETURN_IF_ERROR(ReadCluster(*config, resolved));
  }
  CAPSTAN_RETURN_IF_ERROR(ReadTask(*config, overrides, resolved));
  const auto layer = config->find("rpc_layer");
  if (layer != config->end() && !overrides.rpc_layer.has_value() &&
      !(layer->is_string() &&
        IsKnownRpcLayer(layer->get_ref<const std::string&>()))) {
    resolved.warnings.push_back(
        fmt::format("{}: rpc_layer {} is ignored: tasks speak Capstan's own "
                    "protocol",
                    kTfConfig, JsonText(*layer)));
  }
  return ApplyOverrides(overrides, resolved);
}

}  // namespace

absl::StatusOr<ResolvedCluster> ReadTfConfig(
    const Environment& environment, const ClusterOverrides& overrides) {
  const std::optional<std::string> text = environment.Get(kTfConfig);
  if (!text.has_value()) {
    return absl::FailedPreconditionError(
        environment.Has(kTfConfig)
            ? "TF_CONFIG is set but empty: unset it, or describe the cluster "
              "in it"
            : "TF_CONFIG is not set: describe the cluster in it");
  }
  ResolvedCluster resolved;
  resolved.source = kTfConfig;
  const absl::Status status = ReadConfig(*text, overrides, resolved);
  if (!status.ok()) return WithContext(status, kTfConfig);
  return resolved;
}

TFConfigClusterResolver::TFConfigClusterResolver(ClusterOverrides overrides,
                                                 Environment environment)
    : overrides_(std::move(overrides)), environment_(std::move(environment)) {}

ResolvedCluster TFConfigClusterResolver::Read() const {
  return ValueOrThrow(ReadTfConfig(environment_, overrides_));
}

}  // namespace capstan
