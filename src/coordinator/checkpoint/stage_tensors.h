// Brings rows of tensors to the servers, beside what they hold. Blocks, on a
// thread of the caller's.
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

// To whom, and as what, rows are staged.
struct StageTarget {
  Executor executor;  // of the client; another thread runs it
  ParameterClient* client = nullptr;
  Fence fence;
  uint64_t map_version = 0;
  uint64_t restore_id = 0;
  std::shared_ptr<Cancellation> until_lost;  // a server; may be null
};

// Reads each tensor that `copies` name once, and stages its rows as they come:
// a piece, or a row if that is larger, is in memory. Errors of the source and
// of StageRows.
absl::Status StageTensors(const StageTarget& target,
                          const std::vector<const RestoreCopy*>& copies,
                          const TensorSource& source);

}  // namespace capstan
