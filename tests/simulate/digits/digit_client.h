// How a node of the exact_digits workload talks to the servers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/async/task.h"
#include "base/random.h"
#include "client/parameter_client.h"
#include "simulate/digits/digit_context.h"

namespace capstan::simulate {

// A client of all servers for task `role`/`index` on `node`.
std::unique_ptr<ParameterClient> NewDigitClient(DigitContext& context,
                                                SimNode& node,
                                                const std::string& role,
                                                size_t index);

struct ReadPlan {
  uint64_t round = 0;
  bool by_rows = false;  // asks for `rows` by their ids
  bool drift = false;    // reads `drift` as well
  Duration timeout = std::chrono::seconds(1);
};

// Reads those shards of the variables that are newer than what `values` already
// holds, and has them judged. All arguments must outlive the call.
Task<absl::Status> ReadDigits(DigitContext& context, ParameterClient& client,
                              ReadPlan plan, DigitValues& values);

// Sends update number `push` of a step, and has the answer judged.
Task<absl::StatusOr<UpdateResult>> SendUpdate(DigitContext& context,
                                              SimNode& node,
                                              ParameterClient& client,
                                              Assignment assignment,
                                              uint32_t push);

}  // namespace capstan::simulate
