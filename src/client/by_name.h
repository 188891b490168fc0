// Reading and updating variables that are known by their names, as tensors.
//
// Errors beyond those of the client's calls: NotFound for a name that is in no
// shard map, also after asking for a new one; InvalidArgument for values whose
// shape is not the variable's; ResourceExhausted without the memory.
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

// Which versions of variables, by their ids, somebody has seen: an update that
// is computed from them is as stale as what their servers did since.
using SeenVersions = std::map<uint32_t, ShardVersions>;

// Variables, whole, in one go. Their versions are noted in `seen`, which may be
// null.
Task<absl::StatusOr<std::vector<Tensor>>> ReadByName(
    ParameterClient& client, std::vector<std::string> names,
    ReadOptions options, SeenVersions* seen = nullptr);

// Row ids[i] of a variable as row i.
Task<absl::StatusOr<Tensor>> ReadRowsByName(ParameterClient& client,
                                            std::string name,
                                            std::vector<int64_t> ids,
                                            ReadOptions options);

// Updates, all as one, under `id`, computed from the versions in `seen`, if it
// is not null.
Task<absl::StatusOr<UpdateResult>> UpdateByName(
    ParameterClient& client, UpdateId id, Operation operation,
    std::vector<VariableUpdate> updates, UpdateOptions options,
    const SeenVersions* seen = nullptr);

}  // namespace capstan
