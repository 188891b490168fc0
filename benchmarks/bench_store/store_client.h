// The calling side of bench_store: a client on one I/O thread, and its
// variables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "base/async/io_thread.h"
#include "base/async/run_on.h"
#include "base/log.h"
#include "client/parameter_client.h"
#include "transport/stream.h"

namespace capstan {

// Used from one thread, not its own.
class StoreClient {
 public:
  // For the one server at `address`. `clock` and `network` must outlive it.
  StoreClient(Clock& clock, Network& network, const std::string& address);
  ~StoreClient();

  // Replaces all variables with these, not partitioned.
  absl::Status Create(std::vector<VariableSpec> specs);
  // Their ids, in order of creation.
  const std::vector<uint32_t>& ids() const { return ids_; }

  ParameterClient& client() { return *client_; }
  // A new step. Call it on the client's thread, which owns the counter.
  UpdateId NextStep() {
    return {.fence = {.generation = generation_, .term = 1}, .step = ++step_};
  }

  template <typename T>
  T Run(Task<T> task) {
    return RunOn(thread_.executor(), std::move(task));
  }
  Executor executor() { return thread_.executor(); }

 private:
  Logger logger_ =
      Logger::ToStderr({.level = LogLevel::kWarning, .prefix = "bench_store"});
  uint64_t generation_ = 0;
  uint64_t step_ = 0;
  std::vector<uint32_t> ids_;
  std::unique_ptr<ParameterClient> client_;
  // Stopped, and then destroyed, before what runs on it.
  IoThread thread_;
};

}  // namespace capstan
