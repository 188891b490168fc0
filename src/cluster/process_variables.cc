#include "cluster/process_variables.h"

#include <unistd.h>

namespace capstan {

std::vector<std::string> ProcessVariables() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

}  // namespace capstan
