// A parameter server, two workers and a coordinator exchange tensors over the
// wire, as processes of their own on this machine.
//
//   exchange_tensors
//
// This process is the coordinator; it starts the others, which are this program
// again. Each worker pulls a tensor of 64 MiB from the server, checks every
// element, and pushes an update that the server adds, five times, while the
// other does the same. In the end the sum must be exact, and all must see it.
#include <fmt/core.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "base/event.h"
#include "base/run_on.h"
#include "base/status.h"
#include "demo.h"
#include "launch/child_process.h"
#include "local_task.h"
#include "tensor_service.h"
#include "wire/probe_service.h"
#include "worker_service.h"

namespace capstan {
namespace {

// A task as the coordinator sees it.
struct Peer {
  std::string task;  // "worker/1"
  ChildProcess process;
  std::string address;
  std::unique_ptr<Channel> channel;
};

// The server first, then the workers.
using Peers = std::vector<Peer>;

Task<absl::StatusOr<Reply>> Call(Channel& channel, Method method,
                                 MutableBytes into) {
  std::string body;
  std::vector<Bytes> attachments;
  CallOptions options;
  options.timeout = kWorkerTimeout;
  if (!into.empty()) options.receive_into.emplace(1, into);
  co_return co_await channel.Call(method, std::move(body),
                                  std::move(attachments), std::move(options));
}

Task<absl::Status> MeasureLinks(Peers& peers) {
  fmt::print("\nEach worker alone with the server, over TCP:\n");
  for (size_t i = 1; i < peers.size(); ++i) {
    Measurement measured;
    const MutableBytes into = std::as_writable_bytes(std::span(&measured, 1));
    absl::StatusOr<Reply> reply =
        co_await Call(*peers[i].channel, kMeasure, into);
    if (!reply.ok()) co_return reply.status();
    fmt::print(
        "  {}  4 KiB round trip {:5.1f} us   64 MiB pulled at {:.2f} GB/s, "
        "pushed and added at {:.2f} GB/s\n",
        peers[i].task, measured.round_trip_us, measured.pull_gbps,
        measured.push_gbps);
  }
  co_return absl::OkStatus();
}

// A call that goes on beside others.
struct BackgroundCall {
  explicit BackgroundCall(const Executor& executor) : done(executor) {}
  Event done;
  absl::Status status;
};

Task<> TrainOne(Channel* worker, BackgroundCall* call) {
  const MutableBytes nothing;
  absl::StatusOr<Reply> reply = co_await Call(*worker, kTrain, nothing);
  call->status = reply.status();
  call->done.Set();
}

Task<absl::Status> TrainTogether(const Executor& executor, Peers& peers) {
  std::list<BackgroundCall> calls;
  for (size_t i = 1; i < peers.size(); ++i) {
    calls.emplace_back(executor);
    Spawn(executor, TrainOne(peers[i].channel.get(), &calls.back()));
  }
  absl::Status first_error;
  for (BackgroundCall& call : calls) {
    co_await call.done.Wait();
    first_error.Update(call.status);
  }
  co_return first_error;
}

// Compares the tensor with what it must be, and with what the others see.
Task<absl::Status> CheckResult(Peers& peers) {
  Tensor tensor = Tensor::Zeros(DType::kF32, TensorShape());
  const MutableBytes into = tensor.mutable_view().mutable_bytes();
  absl::StatusOr<Reply> pulled =
      co_await Call(*peers[0].channel, kPullTensor, into);
  if (!pulled.ok()) co_return pulled.status();
  float expected = 0;
  for (int worker = 0; worker < kWorkers; ++worker) {
    expected += kSteps * UpdateOf(worker);
  }
  const float added = AddedToAll(tensor.Values<float>());
  if (added != expected) {
    co_return absl::DataLossError(
        absl::StrCat("the updates add up to ", added, ", not to ", expected));
  }
  const uint64_t checksum = Crc32c(into);
  const MutableBytes nothing;
  for (Peer& peer : peers) {
    absl::StatusOr<Reply> reply =
        co_await Call(*peer.channel, kDigest, nothing);
    if (!reply.ok()) co_return reply.status();
    if (reply->body != EncodeProbeSize(checksum)) {
      co_return WithTask(absl::DataLossError("sees another tensor"), peer.task);
    }
  }
  fmt::print(
      "all {} peers agree: {} elements, each exactly its initial value "
      "+ {} after {} updates (crc32c {:08x})\n",
      peers.size(), tensor.Values<float>().size(), added, kWorkers * kSteps,
      checksum);
  co_return absl::OkStatus();
}

Task<absl::Status> Coordinate(Executor executor, Peers& peers) {
  absl::Status status = co_await MeasureLinks(peers);
  if (status.ok()) {
    fmt::print("\nBoth at once: {} times pull, check, push.\n", kSteps);
    status = co_await TrainTogether(executor, peers);
  }
  if (status.ok()) status = co_await CheckResult(peers);
  for (Peer& peer : peers) co_await CloseChannel(std::move(peer.channel));
  co_return status;
}

absl::Status StartPeer(LocalTask& self, const std::string& role, int index,
                       Peers& peers) {
  const std::string server = peers.empty() ? "" : peers[0].address;
  absl::StatusOr<ChildProcess> process =
      ChildProcess::Start({role, absl::StrCat(index), server});
  if (!process.ok()) return process.status();
  const std::string task = absl::StrCat(role, "/", index);
  absl::StatusOr<std::string> address = process->WaitReady();
  if (!address.ok()) return WithTask(address.status(), task);
  fmt::print("  {:<12} pid {:<7} {}\n", task, process->pid(), *address);
  std::unique_ptr<Channel> channel = self.NewChannel(task, *address);
  peers.push_back(
      {task, *std::move(process), *std::move(address), std::move(channel)});
  return absl::OkStatus();
}

absl::Status RunCoordinator() {
  LocalTask self("chief", 0);
  Peers peers;
  fmt::print("Who is there:\n  {:<12} pid {:<7} (this process)\n",
             "coordinator", getpid());
  CAPSTAN_RETURN_IF_ERROR(StartPeer(self, "ps", 0, peers));
  for (int i = 0; i < kWorkers; ++i) {
    CAPSTAN_RETURN_IF_ERROR(StartPeer(self, "worker", i, peers));
  }
  const Executor executor = self.executor();
  CAPSTAN_RETURN_IF_ERROR(RunOn(executor, Coordinate(executor, peers)));
  // The workers first, as they use the server.
  while (!peers.empty()) {
    Peer& last = peers.back();
    last.process.Terminate();
    CAPSTAN_RETURN_IF_ERROR(WithTask(last.process.Wait(), last.task));
    peers.pop_back();
  }
  return absl::OkStatus();
}

// Serves until somebody asks the process to end.
absl::Status ServeUntilSignal(LocalTask& self, Service& service,
                              const sigset_t& signals) {
  CAPSTAN_RETURN_IF_ERROR(self.Serve(service));
  CAPSTAN_RETURN_IF_ERROR(ReportReady(self.address()));
  int signal = 0;
  sigwait(&signals, &signal);
  self.Shutdown();
  return absl::OkStatus();
}

absl::Status RunPeer(const std::string& role, int index,
                     const std::string& server_address) {
  // Before the first thread, which inherits it.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  LocalTask self(role, static_cast<uint32_t>(index));
  if (role == "ps") {
    TensorService service;
    return ServeUntilSignal(self, service, signals);
  }
  WorkerService service(index, self.NewChannel("ps/0", server_address));
  absl::Status status = ServeUntilSignal(self, service, signals);
  RunOn(self.executor(), service.Close());
  return status;
}

int Main(int argc, char** argv) {
  if (argc != 1 && argc != 4) {
    fmt::print(stderr, "usage: exchange_tensors\n");
    return 2;
  }
  // Line by line also into a pipe, so that progress can be seen.
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const absl::Status status =
      argc == 1 ? RunCoordinator() : RunPeer(argv[1], atoi(argv[2]), argv[3]);
  if (status.ok()) return 0;
  fmt::print(stderr, "exchange_tensors: {}\n", Describe(status));
  return 1;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
