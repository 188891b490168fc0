// The smallest program: it prints the cluster that it runs in.
//
//   build/release/bin/hello_cluster              # a cluster in one process
//   build/release/bin/capstan run -w 2 -s 2 -- build/release/bin/hello_cluster
#include <iostream>

#include "capstan/program.h"

int main(int argc, char** argv) {
  capstan::Program program(argc, argv);
  return program.Run([](capstan::Cluster& cluster) {
    std::cout << "Hello from a cluster of " << cluster.spec().ToString()
              << ":\n"
              << ToTable(cluster.Tasks());
  });
}
