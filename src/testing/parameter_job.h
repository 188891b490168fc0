// Parameter servers and clients in this process, on real threads, over the
// in-process transport. Test-only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/async/io_thread.h"
#include "base/async/real_clock.h"
#include "base/async/run_on.h"
#include "base/file/file_system.h"
#include "base/log.h"
#include "client/parameter_client.h"
#include "server/parameter_service.h"
#include "transport/inproc/inproc_network.h"
#include "transport/server.h"
#include "wire/probe_service.h"

namespace capstan::testing {

struct ParameterJobOptions {
  uint32_t servers = 1;
  int threads = 2;  // of each server
  uint64_t memory_limit = UINT64_MAX;
  uint64_t answer_limit = uint64_t{2} << 30;
  std::shared_ptr<FileSystem> checkpoints = nullptr;  // of all servers
};

// Used from one thread. Blocks until what is asked of it is done.
class ParameterJob {
 public:
  explicit ParameterJob(ParameterJobOptions options = {});
  ~ParameterJob();

  // A client of its own, on a thread of its own; `role` is who it says it is.
  ParameterClient& NewClient(const std::string& role = "worker");
  // The first one, the coordinator's.
  ParameterClient& chief() { return *clients_[0]->client; }

  // Runs a task of `client` and waits for its result:
  //   job.Run(client, client.Pull(items))
  template <typename T>
  T Run(ParameterClient& client, Task<T> task) {
    return RunOn(ExecutorOf(client), std::move(task));
  }
  template <typename T>
  std::future<T> Start(ParameterClient& client, Task<T> task) {
    return StartOn(ExecutorOf(client), std::move(task));
  }

  // Adds variables to those that there are, and tells all clients. If that
  // fails, what there was is there again, and no id is used twice.
  absl::Status Create(std::vector<VariableSpec> specs);
  absl::Status Create(std::vector<VariableSpec> specs,
                      const Partitioner& partitioner);
  absl::Status Drop(std::vector<std::string> names);
  // Starts the next generation with the same variables, and `watermark`.
  absl::Status NextGeneration(uint64_t watermark = 0);

  // The id of a variable, which must be there.
  uint32_t Id(const std::string& name);
  // A new step's id in the current generation.
  UpdateId NextStep();

  // The whole of a variable, as f32.
  absl::StatusOr<std::vector<float>> Read(const std::string& name);
  StoreReport Status(uint32_t server);
  // What the server that has it says of a shard, which must be there.
  VariableReport Report(const std::string& name, uint32_t shard = 0);

  // A request by hand, as no client would send it.
  absl::StatusOr<Reply> Call(uint32_t server, Method method, std::string body,
                             std::vector<Bytes> attachments = {},
                             CallOptions options = {});
  // How many requests the server has read.
  uint64_t Requests(uint32_t server) const;

  // Closes the connection that sends the `bytes`-th byte of large attachments
  // from now on to a server, in the middle of it. Once; meanwhile one client at
  // a time may send such.
  void CutAfter(uint64_t bytes);
  // The same, but it only sends nothing more until Release. Once in a job.
  void HoldAfter(uint64_t bytes);
  // Waits until it holds.
  void AwaitHeld() const;
  // Lets it go on, or cuts it where it is.
  void Release();
  void ReleaseCut();

  const ShardMap& map() const { return map_; }

  Fence fence() const { return fence_; }
  void set_term(uint64_t term) { fence_.term = term; }

 private:
  struct OneServer;
  struct OneClient {
    std::unique_ptr<IoThread> thread;
    std::unique_ptr<ParameterClient> client;
  };
  Executor ExecutorOf(const ParameterClient& client);
  absl::Status Install(const ShardMap& map, uint64_t watermark = 0);
  void Restore(const ShardMap& failed);

  const ParameterJobOptions options_;
  RealClock clock_;
  Logger logger_;
  InprocNetwork network_;
  // The same network for the clients, with a knife.
  class CuttingNetwork;
  std::unique_ptr<CuttingNetwork> cutting_;
  std::vector<std::unique_ptr<OneServer>> servers_;
  std::vector<std::unique_ptr<OneClient>> clients_;
  // For requests by hand, on the first client's thread.
  std::vector<std::unique_ptr<Channel>> raw_channels_;
  ShardMap map_;
  Fence fence_ = {.generation = 1, .term = 1};
  uint64_t step_ = 0;
};

}  // namespace capstan::testing
