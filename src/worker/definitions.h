// How the other layers see the definitions of a program.
#pragma once

#include <memory>
#include <vector>

#include "capstan/worker.h"
#include "wire/program.h"

namespace capstan {

// What a program defined, in the order in which it did. Immutable.
struct DefinitionList {
  std::vector<FunctionDefinition> functions;
  std::vector<ResourceDefinition> resources;
  EvaluatorBody evaluator;  // null if there is none
};

// To be compared with those of other tasks.
ProgramDefinitions Describe(const DefinitionList& list);

struct DefinitionsReader {
  // What there is; from now on nothing can be added. Thread-safe.
  static std::shared_ptr<const DefinitionList> Freeze(
      const Definitions& definitions);
};

}  // namespace capstan
