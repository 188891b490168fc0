// The text of the starter project. The tests build it against the installed
// package and run it (cmake/package_test.cmake).
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "capstan/version.h"
#include "cli/new_project.h"

namespace capstan {
namespace {

constexpr char kCMakeLists[] = R"(cmake_minimum_required(VERSION 3.25)
project(@NAME@ LANGUAGES CXX)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
find_package(capstan @VERSION@ REQUIRED)

add_executable(@NAME@ main.cc)
target_compile_features(@NAME@ PRIVATE cxx_std_20)
target_link_libraries(@NAME@ PRIVATE capstan::capstan)
)";

constexpr char kMain[] =
    R"(// Fits a line: y = 3 x + 1. Put your own examples and step here.
#include <capstan/coordinator.h>
#include <capstan/program.h>

#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace cs = capstan;

constexpr std::int64_t kExamples = 1000;
constexpr std::int64_t kBatch = 20;
constexpr int kEpochs = 5;

// Runs on the workers: the mean squared error of some of the examples, whose
// gradient is applied on the servers.
double TrainStep(cs::WorkerContext& worker, cs::DataRange range) {
  const cs::Tensor line = worker.Read("line");
  const float slope = line.Values<float>()[0];
  const float offset = line.Values<float>()[1];
  const auto size = static_cast<float>(range.size());
  float gradient[2] = {0, 0};
  double loss = 0;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const float x = static_cast<float>(i % 100) / 50 - 1;
    const float error = slope * x + offset - (3 * x + 1);
    gradient[0] += 2 * error * x / size;
    gradient[1] += 2 * error / size;
    loss += error * error / size;
  }
  worker.ApplyGradients(
      {{"line", cs::Tensor::FromValues({2}, {gradient[0], gradient[1]})}});
  return loss;
}

int main(int argc, char** argv) {
  cs::Program program(argc, argv);
  auto step = program.AddFunction("train_step", TrainStep);
  // Runs on the coordinator.
  return program.Run([&](cs::Cluster& cluster) {
    cs::ClusterCoordinator coordinator(cluster);
    coordinator.CreateVariables(
        {{.name = "line",
          .shape = {2},
          .optimizer = cs::Sgd{.learning_rate = 0.1}}});
    cs::DataRanges ranges(
        {.examples = kExamples, .batch = kBatch, .shuffle = true});
    for (int epoch = 1; epoch <= kEpochs; ++epoch) {
      double loss = 0;
      std::vector<cs::RemoteValue<double>> losses;
      while (auto range = ranges.Next()) {
        losses.push_back(coordinator.Schedule(step, *std::move(range)));
      }
      coordinator.Join();
      for (auto& one : losses) loss += one.Fetch();
      std::printf("epoch %d: loss %.6f\n", epoch,
                  loss / static_cast<double>(losses.size()));
    }
    const cs::Tensor line = coordinator.ReadAll({"line"})[0];
    std::printf("y = %.2f x + %.2f\n", line.Values<float>()[0],
                line.Values<float>()[1]);
  });
}
)";

constexpr char kReadme[] = R"(# @NAME@

A program that trains with parameter servers, made by `capstan new`.

    cmake -B build                      # -D CMAKE_PREFIX_PATH=/where/capstan/is
    cmake --build build
    build/@NAME@                        # all in one process
    capstan run -w 4 -s 2 -- build/@NAME@    # with processes of their own

`main.cc` fits a line: put your own examples and your own step there. The same
program runs on many machines: each finds out from `TF_CONFIG`, Slurm or
Kubernetes which task it is. `capstan doctor` says what is wrong with a machine.
)";

constexpr char kIgnore[] = "build/\nruns/\n";

}  // namespace

std::vector<ProjectFile> StarterProject(const std::string& name) {
  const std::string version =
      absl::StrCat(CAPSTAN_VERSION_MAJOR, ".", CAPSTAN_VERSION_MINOR);
  const auto fill = [&](const char* text) {
    return absl::StrReplaceAll(text,
                               {{"@NAME@", name}, {"@VERSION@", version}});
  };
  return {{"CMakeLists.txt", fill(kCMakeLists)},
          {"main.cc", fill(kMain)},
          {"README.md", fill(kReadme)},
          {".gitignore", fill(kIgnore)}};
}

}  // namespace capstan
