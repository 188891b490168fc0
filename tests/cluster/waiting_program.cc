// A program whose body says "ready" and ends when its standard input does.
#include <iostream>
#include <string>

#include "capstan/program.h"

int main(int argc, char** argv) {
  capstan::Program program(argc, argv);
  return program.Run([](capstan::Cluster& cluster) {
    std::cout << "ready, term " << cluster.term() << std::endl;
    std::string line;
    while (std::getline(std::cin, line)) {
      if (line == "fail") throw std::runtime_error("the body was told to fail");
      std::cout << ToTable(cluster.Tasks()) << std::endl;
    }
  });
}
