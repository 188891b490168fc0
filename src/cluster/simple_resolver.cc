#include <utility>

#include "capstan/resolver.h"

namespace capstan {

SimpleClusterResolver::SimpleClusterResolver(ClusterSpec spec,
                                             std::optional<TaskId> task,
                                             RpcOptions rpc)
    : spec_(std::move(spec)), task_(task), rpc_(std::move(rpc)) {}

ResolvedCluster SimpleClusterResolver::Read() const {
  return {.spec = spec_, .task = task_, .rpc = rpc_, .source = "the program"};
}

}  // namespace capstan
