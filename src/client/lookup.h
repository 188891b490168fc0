// Embedding lookups: rows of a table. Each row is requested once, from the
// server that has it, in one request per server.
#pragma once

#include <cstdint>
#include <vector>

#include "base/async/task.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "client/parameter_client.h"

namespace capstan {

// Reads row ids[i] of the variable as row i of the result. Errors:
// InvalidArgument for a scalar, which has no rows; those of
// ParameterClient::Spec and Gather. `client` must outlive the task.
Task<absl::StatusOr<Tensor>> LookupRows(ParameterClient& client,
                                        uint32_t variable,
                                        std::vector<int64_t> ids,
                                        ReadOptions options = {});

}  // namespace capstan
