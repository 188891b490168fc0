#include "cluster/json.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/status.h"
#include "cluster/cluster_spec.h"
#include "cluster/task_id.h"
#include "cluster/text.h"

namespace capstan {
namespace {

// Finds an object with a duplicate key during parsing.
class DuplicateKeys {
 public:
  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
        open_.emplace_back();
        break;
      case Json::parse_event_t::object_end:
        open_.pop_back();
        break;
      case Json::parse_event_t::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!open_.back().insert(key).second && !found_) found_ = key;
        break;
      }
      default:
        break;
    }
    return true;
  }

  const std::optional<std::string>& found() const { return found_; }

 private:
  std::vector<std::set<std::string>> open_;
  std::optional<std::string> found_;
};

// A hint at the likely mistake; `place` is the offending character.
std::string Hint(std::string_view text, size_t place) {
  const char found = place < text.size() ? text[place] : '\0';
  if (found == '\'') return "; JSON has double quotes";
  const size_t before = text.substr(0, place).find_last_not_of(" \t\r\n");
  if ((found == '}' || found == ']') && before != std::string_view::npos &&
      text[before] == ',') {
    return "; remove the comma before it";
  }
  if (place >= text.size()) return "; it ends too early";
  return "";
}

// `byte` is the 1-based position of the offending character, and may be one
// past the end.
absl::Status SyntaxError(std::string_view text, size_t byte) {
  constexpr size_t kAround = 20;
  const size_t place = std::min(byte == 0 ? 0 : byte - 1, text.size());
  const std::string_view before = text.substr(0, place);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const size_t from = place > kAround ? place - kAround : 0;
  return Invalid(
      "not JSON at line {}, column {}, near {}{}", line, place - line_start + 1,
      Quoted(text.substr(from, place - from + kAround)), Hint(text, place));
}

absl::StatusOr<ClusterSpec::Tasks> ReadTasks(std::string_view job,
                                             const Json& value) {
  if (!value.is_array() && !value.is_object()) {
    return Invalid("cluster.{} is {}; write a list of addresses, as {}", job,
                   JsonText(value), R"(["host:port"])");
  }
  ClusterSpec::Tasks tasks;
  for (const auto& [key, address] : value.items()) {
    const std::optional<int> index = ParseWhole(key, 0, TaskId::kMaxIndex);
    if (!index.has_value()) {
      return Invalid("cluster.{} has the key {}; write an index from 0 to {}",
                     job, Quoted(key), TaskId::kMaxIndex);
    }
    if (!address.is_string()) {
      return Invalid("cluster.{}[{}] is {}; write an address, as {}", job, key,
                     JsonText(address), R"("host:port")");
    }
    if (!tasks.emplace(*index, address.get<std::string>()).second) {
      return Invalid("cluster.{} has the index {} twice", job, *index);
    }
  }
  return tasks;
}

}  // namespace

absl::StatusOr<Json> ParseJson(std::string_view text) {
  DuplicateKeys duplicates;
  Json value;
  try {
    value = Json::parse(text, std::ref(duplicates));
  } catch (const Json::parse_error& error) {
    return SyntaxError(text, error.byte);
  } catch (const Json::exception&) {
    // A number that does not fit a double.
    return Invalid("not JSON: a number is out of range");
  }
  if (duplicates.found().has_value()) {
    return Invalid("the key {} is there twice: keep one of them",
                   Quoted(*duplicates.found()));
  }
  return value;
}

std::string JsonText(const Json& value) {
  constexpr size_t kMaxShown = 60;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMaxShown)
    text.replace(kMaxShown, std::string::npos, "...");
  return text;
}

absl::StatusOr<ClusterSpec> ReadClusterJson(const Json& cluster) {
  if (!cluster.is_object()) {
    return Invalid("cluster is {}; write an object, as {}", JsonText(cluster),
                   R"({"chief": [...], "worker": [...], "ps": [...]})");
  }
  ClusterSpec::Jobs jobs;
  for (const auto& [name, value] : cluster.items()) {
    const absl::StatusOr<Role> role = ParseJobName(name);
    CAPSTAN_RETURN_IF_ERROR(role.status());
    absl::StatusOr<ClusterSpec::Tasks> tasks = ReadTasks(name, value);
    CAPSTAN_RETURN_IF_ERROR(tasks.status());
    jobs.emplace(*role, *std::move(tasks));
  }
  return MakeClusterSpec(std::move(jobs));
}

ClusterSpec ClusterSpec::FromJson(std::string_view json) {
  const Json cluster = ValueOrThrow(ParseJson(json));
  return ValueOrThrow(ReadClusterJson(cluster));
}

std::string ClusterSpec::ToJson() const {
  Json cluster = Json::object();
  for (const auto& [role, tasks] : jobs_) {
    Json& job = cluster[std::string(RoleName(role))];
    for (const auto& [index, address] : tasks) {
      if (is_dense(role)) {
        job.push_back(address);
      } else {
        job[std::to_string(index)] = address;
      }
    }
  }
  return cluster.dump();
}

}  // namespace capstan
