// The results of a benchmark: a flat JSON file for programs, lines for people.
// Not thread-safe.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"

namespace capstan {

class Report {
 public:
  // Starts with the context of the figures: machine, compiler, date, commit,
  // load, and the command and number of rounds given.
  Report(const std::string& command, int rounds);

  // Adds a figure under `key` ("tcp.rtt_4k_us"), to four significant digits.
  void Set(const std::string& key, double value);
  // Adds a fact, such as the name of a library.
  void SetText(const std::string& key, const std::string& value);

  // Prints a table's header or line: a name, our figure, the reference's and
  // their ratio. Figures are printed with `unit`.
  void PrintHeader(const std::string& title, const std::string& ours);
  void PrintRow(const std::string& name, const std::string& unit, double ours,
                double bare, double ratio);
  // A line without a reference.
  void PrintRow(const std::string& name, const std::string& unit, double ours);

  // Writes the JSON file. Fails with the reason, naming the file.
  absl::Status Write(const std::string& path) const;

 private:
  nlohmann::ordered_json json_;
};

}  // namespace capstan
