// Reads one map of a YAML file, key by key, and rejects any key that was not
// asked for: a misspelt key must not silently turn off a fault.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"

namespace capstan::simulate {

// "20s", "150ms", "400us", "7ns". InvalidArgument for anything else.
absl::StatusOr<Duration> ParseDuration(std::string_view text);

// Keeps the first error; Finish returns it. Not thread-safe.
class StrictMap {
 public:
  // `where` names the map in messages: "request_reply.yaml: faults[2]".
  StrictMap(YAML::Node node, std::string where);

  bool Has(const char* key) const;

  // Reads the value of `key`; leaves `value` unchanged if the key is absent. An
  // entry of the wrong type or out of range is an error.
  void Read(const char* key, std::string& value);
  void Read(const char* key, bool& value);
  void Read(const char* key, int& value, int least, int most);
  void Read(const char* key, uint64_t& value);
  // A fraction from 0 to 1.
  void ReadShare(const char* key, double& value);
  void Read(const char* key, Duration& value);
  // One text, or a list of them.
  void Read(const char* key, std::vector<std::string>& value);

  // A map inside this one; empty if absent.
  StrictMap Map(const char* key);
  // The entries of a list of maps; none if absent.
  std::vector<StrictMap> List(const char* key);

  // Reports the reader's own error about `key`.
  void Fail(const char* key, std::string_view why);

  // The first error or unknown key; OK if there was neither.
  absl::Status Finish() const;

 private:
  // Marks the key as known; null if it is absent.
  YAML::Node Find(const char* key);
  template <typename T>
  bool Convert(const char* key, T& value, const char* expected);

  YAML::Node node_;
  std::string where_;
  std::set<std::string> known_;
  absl::Status error_;
};

}  // namespace capstan::simulate
