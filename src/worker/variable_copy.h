// What a VariableCopy knows of its memory.
#pragma once

#include <cstdint>
#include <string>

#include "capstan/worker.h"
#include "client/parameter_client.h"

namespace capstan {

// Belongs to whoever has the VariableCopy while no call is under way that was
// given it, and then to the executor of that call.
struct VariableCopy::State {
  std::string variable;
  MutableTensorView memory;
  // What is there: of the variable with this id, as there may be another one
  // of that name some day.
  uint32_t id = 0;
  ShardVersions versions = {};

  // The versions of variable `found`, which is now the one of that name.
  ShardVersions& Of(uint32_t found) {
    if (id != found) versions = {};
    id = found;
    return versions;
  }
};

struct VariableCopyAccess {
  static VariableCopy::State& StateOf(VariableCopy& copy) {
    return *copy.state_;
  }
};

}  // namespace capstan
