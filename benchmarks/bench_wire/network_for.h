// The transports of the benchmark, by name.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "transport/stream.h"

namespace capstan {

// The network "tcp", "unix" or "tls". For "tls", `directory` holds the keys
// that WriteKeys put there, and `role` ("ps" or "worker") selects one. `clock`
// must outlive it.
absl::StatusOr<std::unique_ptr<Network>> NetworkFor(
    Clock& clock, const std::string& transport, const std::string& directory,
    const std::string& role);

// Creates a CA and the certificates of ps/0 and worker/0 in `directory`. Aborts
// if that fails.
void WriteKeys(const std::string& directory);

}  // namespace capstan
