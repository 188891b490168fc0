// A program whose body says "ready" and ends when its standard input does.
// After the line "datasets" each worker says which input pipeline it has.
#include <iostream>
#include <optional>
#include <string>

#include "capstan/coordinator.h"
#include "capstan/program.h"

int main(int argc, char** argv) {
  capstan::Program program(argc, argv);
  const auto dataset =
      program.AddDataset("numbers", [](const capstan::InputContext& input) {
        std::cout << "pipeline " << input.input_pipeline_id << " of "
                  << input.num_input_pipelines << std::endl;
        return [] { return std::optional(1); };
      });
  return program.Run([&](capstan::Cluster& cluster) {
    std::optional<capstan::PerWorker<capstan::Iterator<int>>> iterators;
    std::cout << "ready, term " << cluster.term() << std::endl;
    std::string line;
    while (std::getline(std::cin, line)) {
      if (line == "fail") throw std::runtime_error("the body was told to fail");
      if (line == "datasets") {
        capstan::ClusterCoordinator coordinator(cluster);
        iterators = coordinator.CreatePerWorkerDataset(dataset).MakeIterator();
      }
      std::cout << ToTable(cluster.Tasks()) << std::endl;
    }
  });
}
