// The transports of the benchmark by name.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "transport/stream.h"

namespace capstan {

// The network of "tcp", "unix" or "tls". For "tls" the keys are in `directory`,
// where WriteKeys has put them, and `role` ("ps" or "worker") says whose to
// use. `clock` must outlive it.
absl::StatusOr<std::unique_ptr<Network>> NetworkFor(
    Clock& clock, const std::string& transport, const std::string& directory,
    const std::string& role);

// Makes an authority and the certificates of ps/0 and worker/0 in `directory`.
// Aborts if that fails.
void WriteKeys(const std::string& directory);

}  // namespace capstan
