// A program with a BLAS in it, which says what it was started with.
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <string>

#include "capstan/coordinator.h"
#include "capstan/program.h"

extern "C" {
const char* openblas_get_corename();
int openblas_get_num_threads();
}

int main(int argc, char** argv) {
  // Not flushed, and yet not to be lost.
  std::cout << "begins\n";
  capstan::Program program(argc, argv);
  const auto environment = capstan::Environment::FromProcess();
  const auto say = [&](const char* when) {
    std::cout << when << " pid=" << getpid()
              << " core=" << openblas_get_corename()
              << " threads=" << openblas_get_num_threads() << " restarted="
              << environment.Get("CAPSTAN_BLAS_RESTARTED").value_or("0")
              << " arguments=" << argc - 1;
    for (int i = 1; i < argc; ++i) std::cout << " [" << argv[i] << "]";
    std::cout << std::endl;
  };
  say("made");
  std::string name;
  std::ifstream("/proc/self/comm") >> name;
  std::cout << "name=" << name << std::endl;
  const auto look = program.AddFunction(
      "look", [&](capstan::WorkerContext&) { say("worker"); });
  return program.Run([&](capstan::Cluster& cluster) {
    capstan::ClusterCoordinator coordinator(cluster);
    coordinator.Schedule(look);
    coordinator.Join();
  });
}
