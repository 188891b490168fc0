// What a VariableCopy knows about its memory.
#pragma once

#include <cstdint>
#include <string>

#include "capstan/worker.h"
#include "client/parameter_client.h"

namespace capstan {

// Belongs to the owner of the VariableCopy, except while a call that was given
// it is in flight, when it belongs to the executor of that call.
struct VariableCopy::State {
  std::string variable;
  MutableTensorView memory;
  // The variable that the memory holds: another one of the same name may be
  // created later.
  uint32_t id = 0;
  ShardVersions versions = {};

  // The versions of variable `found`, which now has that name.
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
