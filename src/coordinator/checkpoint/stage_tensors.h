// Sends rows of tensors to the servers, to be staged beside the live values.
// Blocks, on one of the caller's threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "base/async/cancellation.h"
#include "base/async/task.h"
#include "checkpoint/tensor_file/tensor_source.h"
#include "client/parameter_client.h"
#include "coordinator/checkpoint/plan_restore.h"

namespace capstan {

// Where, and under which names, rows are staged.
struct StageTarget {
  Executor executor;  // of the client; another thread runs it
  ParameterClient* client = nullptr;
  Fence fence;
  uint64_t map_version = 0;
  uint64_t restore_id = 0;
  std::shared_ptr<Cancellation> until_lost;  // on a server's loss; may be null
};

// Reads each tensor that `copies` name once and stages its rows as they are
// read; holds one piece in memory, or one row if that is larger. Errors of the
// source and of StageRows.
absl::Status StageTensors(const StageTarget& target,
                          const std::vector<const RestoreCopy*>& copies,
                          const TensorSource& source);

}  // namespace capstan
