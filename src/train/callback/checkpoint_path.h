// The names of checkpoints.
#pragma once

#include <cstdint>
#include <string>

#include "capstan/callback.h"

namespace capstan {

// `pattern` with {epoch}, {batch} and the logs filled in, and ".safetensors"
// appended if missing. Throws kInvalidArgument, listing the valid names, for a
// malformed pattern or unknown names.
std::string CheckpointPath(const std::string& pattern, int epoch,
                           std::int64_t batch, const Logs& logs);

}  // namespace capstan
