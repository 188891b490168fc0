// The definitions of a program, as other layers see them.
#pragma once

#include <memory>
#include <vector>

#include "capstan/worker.h"
#include "wire/program.h"

namespace capstan {

// What a program defined, in the order of definition. Immutable.
struct DefinitionList {
  std::vector<FunctionDefinition> functions;
  std::vector<ResourceDefinition> resources;
  EvaluatorBody evaluator;  // null if there is none
};

// For comparison with those of other tasks.
ProgramDefinitions Describe(const DefinitionList& list);

struct DefinitionsReader {
  // Returns the definitions; nothing can be added from then on. Thread-safe.
  static std::shared_ptr<const DefinitionList> Freeze(
      const Definitions& definitions);
};

}  // namespace capstan
