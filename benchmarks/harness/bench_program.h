// What all benchmarks do around their measurements: the command line, the
// children that a benchmark starts from its own program, the file of figures.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "harness/report.h"

namespace CLI {
class App;
}

namespace capstan {

class BenchProgram {
 public:
  using Words = std::vector<std::string>;
  // Runs the chosen experiments.
  using Measure = std::function<absl::Status(const Words& chosen, int rounds,
                                             Report& report)>;

  // `choice` is the option that chooses among the experiments.
  BenchProgram(std::string name, const std::string& purpose,
               const Words& experiments, int rounds,
               const std::string& choice = "--only");
  ~BenchProgram();
  BenchProgram(const BenchProgram&) = delete;
  BenchProgram& operator=(const BenchProgram&) = delete;

  // For more options.
  CLI::App& app() { return *app_; }

  // A subcommand, which runs instead of the experiments.
  CLI::App& AddCommand(const std::string& name, const std::string& help,
                       std::function<absl::Status()> run);

  // One that --help does not show, with these arguments: what a child is told.
  // Those that are not given are empty.
  void AddChild(const std::string& name, const Words& arguments,
                std::function<absl::Status(const Words&)> run);

  // Returns the exit code. The file of figures is written before the
  // experiments as well, so that one that cannot be written is noticed at once.
  int Run(int argc, char** argv, const Measure& measure);

 private:
  absl::Status MeasureAll(const std::string& command, const Measure& measure);

  const std::string name_;
  const std::unique_ptr<CLI::App> app_;
  std::function<absl::Status()> command_;  // that was given
  std::string json_;
  Words chosen_;
  int rounds_;
};

}  // namespace capstan
