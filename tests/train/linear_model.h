// A cluster that trains the linear model, for tests. Test-only.
#pragma once

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "capstan/callback.h"
#include "capstan/coordinator.h"
#include "capstan/error.h"
#include "capstan/program.h"
#include "capstan/trainer.h"
#include "coordinator/helpers.h"
#include "train/linear_replica.h"

namespace capstan::testing {

// A cluster whose workers know the linear model and some data, and its trainer.
class TrainJob {
 public:
  struct Options {
    int workers = 2;
    int servers = 2;
    TrainerOptions trainer = {.optimizer = Sgd{.learning_rate = 0.05}};
  };

  explicit TrainJob(const Dataset& given) : TrainJob(given, Options()) {}
  TrainJob(const Dataset& given, const Options& options)
      : model(AddLinearModel(definitions)),
        data(AddData("data", given)),
        options_(options) {}

  DatasetHandle AddData(const std::string& name, const Dataset& dataset) {
    return testing::AddData(definitions, name, dataset);
  }

  // From then on nothing can be added.
  Trainer& trainer() {
    if (trainer_ == nullptr) {
      job_ = std::make_unique<Job>(definitions, options_.workers,
                                   options_.servers);
      trainer_ = std::make_unique<Trainer>(job_->local.cluster(), model,
                                           options_.trainer);
    }
    return *trainer_;
  }
  Job& job() {
    trainer();
    return *job_;
  }

  // Fit without a word.
  static FitOptions Quiet(FitOptions options) {
    options.verbose = Verbose::kSilent;
    return options;
  }

  Definitions definitions;
  const Model model;
  const DatasetHandle data;

 private:
  const Options options_;
  std::unique_ptr<Job> job_;
  std::unique_ptr<Trainer> trainer_;
};

// All that a file holds.
inline std::string ContentOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Puts a series in place of what was measured.
inline LambdaCallback Series(const std::string& name,
                             std::vector<double> values) {
  return LambdaCallback({.on_epoch_end = [name, values](int epoch, Logs& logs) {
    logs[name] = values[static_cast<std::size_t>(epoch)];
  }});
}

}  // namespace capstan::testing
