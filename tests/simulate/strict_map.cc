#include "simulate/strict_map.h"

#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace capstan::simulate {

absl::StatusOr<Duration> ParseDuration(std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789");
  const std::string_view unit =
      digits == std::string_view::npos ? "" : text.substr(digits);
  int64_t scale = 0;
  if (unit == "s") scale = 1'000'000'000;
  if (unit == "ms") scale = 1'000'000;
  if (unit == "us") scale = 1'000;
  if (unit == "ns") scale = 1;
  int64_t count = 0;
  if (scale == 0 ||
      !absl::SimpleAtoi(std::string(text.substr(0, digits)), &count) ||
      count > std::numeric_limits<int64_t>::max() / 4 / scale) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", std::string(text),
                     "\" is not a time such as 20s, 150ms, 400us or 7ns"));
  }
  return Duration(count * scale);
}

StrictMap::StrictMap(YAML::Node node, std::string where)
    : node_(std::move(node)), where_(std::move(where)) {
  if (node_.IsDefined() && !node_.IsNull() && !node_.IsMap()) {
    error_ = absl::InvalidArgumentError(absl::StrCat(where_, ": not a map"));
    node_ = YAML::Node();
  }
}

bool StrictMap::Has(const char* key) const {
  return node_.IsDefined() && node_.IsMap() && node_[key].IsDefined();
}

YAML::Node StrictMap::Find(const char* key) {
  known_.insert(key);
  return Has(key) ? node_[key] : YAML::Node(YAML::NodeType::Undefined);
}

template <typename T>
bool StrictMap::Convert(const char* key, T& value, const char* expected) {
  const YAML::Node found = Find(key);
  if (!found.IsDefined()) return false;
  if (found.IsScalar() && YAML::convert<T>::decode(found, value)) return true;
  Fail(key, absl::StrCat("not ", expected));
  return false;
}

void StrictMap::Read(const char* key, std::string& value) {
  Convert(key, value, "a text");
}

void StrictMap::Read(const char* key, bool& value) {
  Convert(key, value, "true or false");
}

void StrictMap::Read(const char* key, int& value, int least, int most) {
  int read = 0;
  if (!Convert(key, read, "a whole number")) return;
  if (read < least || read > most) {
    Fail(key, absl::StrCat(read, " is not from ", least, " to ", most));
    return;
  }
  value = read;
}

void StrictMap::Read(const char* key, uint64_t& value) {
  Convert(key, value, "a whole number");
}

void StrictMap::ReadShare(const char* key, double& value) {
  double read = 0;
  if (!Convert(key, read, "a number")) return;
  if (!(read >= 0 && read <= 1)) {
    Fail(key, absl::StrCat(read, " is not from 0 to 1"));
    return;
  }
  value = read;
}

void StrictMap::Read(const char* key, Duration& value) {
  std::string text;
  if (!Convert(key, text, "a time")) return;
  absl::StatusOr<Duration> parsed = ParseDuration(text);
  if (!parsed.ok()) {
    Fail(key, std::string(parsed.status().message()));
    return;
  }
  value = *parsed;
}

void StrictMap::Read(const char* key, std::vector<std::string>& value) {
  const YAML::Node found = Find(key);
  if (!found.IsDefined()) return;
  value.clear();
  if (found.IsScalar()) value.push_back(found.Scalar());
  if (found.IsSequence()) {
    for (const YAML::Node& entry : found) value.push_back(entry.Scalar());
  }
  if (value.empty()) Fail(key, "neither a text nor a list of texts");
}

StrictMap StrictMap::Map(const char* key) {
  return StrictMap(Find(key), absl::StrCat(where_, ": ", key));
}

std::vector<StrictMap> StrictMap::List(const char* key) {
  const YAML::Node found = Find(key);
  std::vector<StrictMap> entries;
  if (!found.IsDefined() || found.IsNull()) return entries;
  if (!found.IsSequence()) Fail(key, "not a list");
  for (size_t i = 0; i < found.size() && found.IsSequence(); ++i) {
    entries.emplace_back(found[i],
                         absl::StrCat(where_, ": ", key, "[", i, "]"));
  }
  return entries;
}

void StrictMap::Fail(const char* key, std::string_view why) {
  if (!error_.ok()) return;
  error_ = absl::InvalidArgumentError(
      absl::StrCat(where_, ": ", key, ": ", std::string(why)));
}

absl::Status StrictMap::Finish() const {
  if (!error_.ok() || !node_.IsDefined() || !node_.IsMap()) return error_;
  for (const auto& entry : node_) {
    if (known_.contains(entry.first.Scalar())) continue;
    std::string expected;
    for (const std::string& key : known_) {
      absl::StrAppend(&expected, expected.empty() ? "" : ", ", key);
    }
    return absl::InvalidArgumentError(absl::StrCat(where_, ": unknown key \"",
                                                   entry.first.Scalar(),
                                                   "\"; known are ", expected));
  }
  return absl::OkStatus();
}

}  // namespace capstan::simulate
