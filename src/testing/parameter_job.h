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
  int threads = 2;  // per server
  uint64_t memory_limit = UINT64_MAX;
  uint64_t answer_limit = uint64_t{2} << 30;
  std::shared_ptr<FileSystem> checkpoints = nullptr;  // shared by all servers
};

// Used from one thread. Each call blocks until it is done.
class ParameterJob {
 public:
  explicit ParameterJob(ParameterJobOptions options = {});
  ~ParameterJob();

  // Adds a client with its own thread; `role` is the role it claims.
  ParameterClient& NewClient(const std::string& role = "worker");
  // The first client, the coordinator's.
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

  // Adds variables to the existing ones and tells all clients. On failure the
  // previous variables are restored, and no id is reused.
  absl::Status Create(std::vector<VariableSpec> specs);
  absl::Status Create(std::vector<VariableSpec> specs,
                      const Partitioner& partitioner);
  absl::Status Drop(std::vector<std::string> names);
  // Starts the next generation with the same variables and with `watermark`.
  absl::Status NextGeneration(uint64_t watermark = 0);

  // The id of a variable, which must exist.
  uint32_t Id(const std::string& name);
  // The id of a new step in the current generation.
  UpdateId NextStep();

  // All values of a variable, as f32.
  absl::StatusOr<std::vector<float>> Read(const std::string& name);
  StoreReport Status(uint32_t server);
  // The owning server's report on a shard, which must exist.
  VariableReport Report(const std::string& name, uint32_t shard = 0);

  // A handmade request, such as no client would send.
  absl::StatusOr<Reply> Call(uint32_t server, Method method, std::string body,
                             std::vector<Bytes> attachments = {},
                             CallOptions options = {});
  // How many requests the server has read.
  uint64_t Requests(uint32_t server) const;

  // Counts the bytes of large attachments that clients send to servers from now
  // on, and closes the connection that sends number `bytes`, in the middle of
  // the attachment. Happens once; until then, only one client at a time may
  // send large attachments.
  void CutAfter(uint64_t bytes);
  // The same, but instead of closing, stops sending until Release. Once per
  // job.
  void HoldAfter(uint64_t bytes);
  // Waits until a connection is held.
  void AwaitHeld() const;
  // Release lets the held connection continue; ReleaseCut cuts it where it is.
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
  // The clients' network, which can cut or hold connections.
  class CuttingNetwork;
  std::unique_ptr<CuttingNetwork> cutting_;
  std::vector<std::unique_ptr<OneServer>> servers_;
  std::vector<std::unique_ptr<OneClient>> clients_;
  // For handmade requests, on the first client's thread.
  std::vector<std::unique_ptr<Channel>> raw_channels_;
  ShardMap map_;
  Fence fence_ = {.generation = 1, .term = 1};
  uint64_t step_ = 0;
};

}  // namespace capstan::testing
