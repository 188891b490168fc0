// Reading and updating variables by name, as tensors.
//
// Errors besides those of the client's calls: NotFound for a name that is in no
// shard map, even after fetching a new one; InvalidArgument for values whose
// shape is not the variable's; ResourceExhausted if there is not enough memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/async/task.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"
#include "client/parameter_client.h"

namespace capstan {

// The ids of variables. `client` must outlive the task, here and below.
Task<absl::StatusOr<std::vector<uint32_t>>> FindByName(
    ParameterClient& client, std::vector<std::string> names,
    ReadOptions options);

// The versions of variables, by id, that a caller has seen: an update computed
// from them is stale by whatever the servers have applied since.
using SeenVersions = std::map<uint32_t, ShardVersions>;

// Reads whole variables, in one call. Records their versions in `seen`, which
// may be null.
Task<absl::StatusOr<std::vector<Tensor>>> ReadByName(
    ParameterClient& client, std::vector<std::string> names,
    ReadOptions options, SeenVersions* seen = nullptr);

// Reads row ids[i] of a variable as row i.
Task<absl::StatusOr<Tensor>> ReadRowsByName(ParameterClient& client,
                                            std::string name,
                                            std::vector<int64_t> ids,
                                            ReadOptions options);

// Sends updates, all as one, under `id`, computed from the versions in `seen`
// if it is not null.
Task<absl::StatusOr<UpdateResult>> UpdateByName(
    ParameterClient& client, UpdateId id, Operation operation,
    std::vector<VariableUpdate> updates, UpdateOptions options,
    const SeenVersions* seen = nullptr);

}  // namespace capstan
