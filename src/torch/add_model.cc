#include <utility>

#include "capstan/torch.h"
#include "torch/module_replica.h"

namespace capstan {

Model AddTorchModel(Definitions& program, std::string name,
                    std::function<TorchModule()> make, TorchOptions options) {
  ModelDefinition definition;
  definition.name = name;
  definition.metrics = options.metrics;
  const auto shared = std::make_shared<const TorchOptions>(std::move(options));
  definition.make = [name = std::move(name), make = std::move(make), shared] {
    return std::make_unique<ModuleReplica>(name, make(), shared);
  };
  return AddModel(program, std::move(definition));
}

}  // namespace capstan
