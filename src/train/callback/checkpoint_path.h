// The names of checkpoints.
#pragma once

#include <cstdint>
#include <string>

#include "capstan/callback.h"

namespace capstan {

// `pattern` with {epoch}, {batch} and the logs put in, and ".safetensors" at
// its end if it is not there. Throws kInvalidArgument, naming what can be put
// in, for a pattern that is wrong or has other names.
std::string CheckpointPath(const std::string& pattern, int epoch,
                           std::int64_t batch, const Logs& logs);

}  // namespace capstan
