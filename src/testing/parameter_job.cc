#include "testing/parameter_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <asio/this_coro.hpp>
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "testing/gate.h"
#include "transport/peer_channel.h"

namespace capstan::testing {
namespace {

Hello Identity(const std::string& role, uint32_t index) {
  Hello hello;
  hello.version = "test";
  hello.job = "job";
  hello.role = role;
  hello.index = index;
  hello.incarnation = index + 1;
  return hello;
}

std::string AddressOf(uint32_t server) {
  return absl::StrCat("inproc:ps", server);
}

}  // namespace

// Counts down the bytes that its streams send, and cuts or holds the stream
// that reaches 0.
class ParameterJob::CuttingNetwork final : public Network {
 public:
  explicit CuttingNetwork(Network& inner) : inner_(inner) {}

  void Arm(uint64_t bytes, bool hold) {
    knife_.hold = hold;
    knife_.left = static_cast<int64_t>(bytes);
  }
  void Release(bool cut) {
    knife_.hold = !cut;
    knife_.gate.Open();
  }
  size_t held() const { return knife_.gate.waiting(); }

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) override {
    absl::StatusOr<std::unique_ptr<Stream>> stream = co_await inner_.Connect(
        std::move(executor), std::move(address), deadline);
    if (!stream.ok()) co_return stream.status();
    std::unique_ptr<Stream> cut =
        std::make_unique<CutStream>(*std::move(stream), knife_);
    co_return cut;
  }

  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) override {
    return inner_.Listen(executor, address);
  }

 private:
  // A write of at least this size is part of an attachment.
  static constexpr size_t kBulk = 16 << 10;

  struct Knife {
    std::atomic<int64_t> left = -1;  // bytes; negative: off
    std::atomic<bool> hold = false;
    Gate gate;
  };

  class CutStream final : public Stream {
   public:
    CutStream(std::unique_ptr<Stream> inner, Knife& knife)
        : inner_(std::move(inner)), knife_(knife) {}

    Task<absl::StatusOr<size_t>> ReadSome(
        std::span<const MutableBytes> into) override {
      return inner_->ReadSome(into);
    }

    Task<absl::StatusOr<size_t>> WriteSome(
        std::span<const Bytes> from) override {
      // Small writes such as keepalives on other streams are not counted.
      if (knife_.left < 0 || TotalSize(from) < kBulk) {
        co_return co_await inner_->WriteSome(from);
      }
      if (knife_.left == 0) {
        knife_.left = -1;
        if (knife_.hold) {
          const Executor executor = co_await asio::this_coro::executor;
          co_await knife_.gate.Pass(executor);
        }
        if (!knife_.hold) inner_->Close();
        co_return co_await inner_->WriteSome(from);
      }
      auto room = static_cast<size_t>(knife_.left);
      std::vector<Bytes> views(from.begin(), from.end());
      for (Bytes& view : views) {
        view = view.first(std::min(room, view.size()));
        room -= view.size();
      }
      const absl::StatusOr<size_t> written = co_await inner_->WriteSome(views);
      if (written.ok()) knife_.left -= static_cast<int64_t>(*written);
      co_return written;
    }

    void Interrupt() override { inner_->Interrupt(); }
    void Close() override { inner_->Close(); }
    std::string peer_address() const override { return inner_->peer_address(); }

   private:
    const std::unique_ptr<Stream> inner_;
    Knife& knife_;
  };

  Network& inner_;
  Knife knife_;
};

struct ParameterJob::OneServer {
  OneServer(Clock& clock, StoreOptions options, int num_threads)
      : service(clock, WithDisk(std::move(options)), probe),
        threads(num_threads) {}
  StoreOptions WithDisk(StoreOptions options) {
    options.disk = disk.executor();
    return options;
  }
  ProbeService probe;
  IoThread disk;
  ParameterService service;
  IoThreads threads;
  std::unique_ptr<Server> server;
};

ParameterJob::ParameterJob(ParameterJobOptions options)
    : options_(std::move(options)),
      cutting_(std::make_unique<CuttingNetwork>(network_)) {
  for (uint32_t i = 0; i < options_.servers; ++i) {
    StoreOptions store;
    store.server = i;
    store.memory_limit = options_.memory_limit;
    store.answer_limit = options_.answer_limit;
    store.checkpoints = options_.checkpoints;
    auto server = std::make_unique<OneServer>(clock_, store, options_.threads);
    std::vector<Executor> executors;
    for (int t = 0; t < options_.threads; ++t) {
      executors.push_back(server->threads.executor(static_cast<size_t>(t)));
    }
    ServerOptions server_options;
    server_options.self = Identity("ps", i);
    absl::StatusOr<std::unique_ptr<Server>> started =
        Server::Start(clock_, network_, logger_, server->service, executors,
                      AddressOf(i), server_options);
    EXPECT_TRUE(started.ok()) << started.status();
    server->server = *std::move(started);
    servers_.push_back(std::move(server));
  }
  NewClient("chief");
  for (uint32_t i = 0; i < options_.servers; ++i) {
    ChannelOptions channel;
    channel.self = Identity("worker", 1000);
    channel.address = AddressOf(i);
    raw_channels_.push_back(NewPeerChannel(
        clock_, *cutting_, logger_, Random(i), ExecutorOf(chief()), channel));
  }
  absl::StatusOr<ShardMap> empty =
      ShardMap::Make(fence_.generation, 0, options_.servers, {});
  EXPECT_TRUE(empty.ok()) << empty.status();
  map_ = *std::move(empty);
}

ParameterJob::~ParameterJob() {
  // No thread may still be running when the first context is destroyed.
  for (const auto& client : clients_) client->thread->Stop();
  for (const auto& server : servers_) {
    server->threads.Stop();
    server->disk.Stop();
  }
}

ParameterClient& ParameterJob::NewClient(const std::string& role) {
  auto made = std::make_unique<OneClient>();
  made->thread = std::make_unique<IoThread>();
  const auto index = static_cast<uint32_t>(clients_.size());
  const Executor executor = made->thread->executor();
  std::vector<std::unique_ptr<Channel>> channels;
  for (uint32_t i = 0; i < options_.servers; ++i) {
    ChannelOptions channel;
    channel.self = Identity(role, index);
    channel.address = AddressOf(i);
    channels.push_back(NewPeerChannel(clock_, *cutting_, logger_,
                                      Random(index, i), executor, channel));
  }
  made->client = std::make_unique<ParameterClient>(
      clock_, executor, std::move(channels), Random(index));
  clients_.push_back(std::move(made));
  return *clients_.back()->client;
}

Executor ParameterJob::ExecutorOf(const ParameterClient& client) {
  for (const auto& one : clients_) {
    if (one->client.get() == &client) return one->thread->executor();
  }
  ADD_FAILURE() << "not a client of this job";
  return {};
}

absl::Status ParameterJob::Install(const ShardMap& map, uint64_t watermark) {
  absl::Status status =
      Run(chief(), chief().Install(map, fence_.term, watermark));
  if (!status.ok()) {
    Restore(map);
    return status;
  }
  map_ = map;
  for (const auto& one : clients_) {
    CAPSTAN_RETURN_IF_ERROR(Run(*one->client, one->client->Refresh()));
  }
  return absl::OkStatus();
}

void ParameterJob::Restore(const ShardMap& failed) {
  const std::span<const VariableEntry> entries = map_.entries();
  absl::StatusOr<ShardMap> map = ShardMap::Make(
      failed.generation(), failed.version() + 1, failed.servers(),
      std::vector<VariableEntry>(entries.begin(), entries.end()),
      failed.next_id());
  EXPECT_TRUE(map.ok()) << map.status();
  const absl::Status status =
      Run(chief(), chief().Install(*map, fence_.term, /*watermark=*/0));
  if (status.ok()) map_ = *std::move(map);
}

absl::Status ParameterJob::Create(std::vector<VariableSpec> specs) {
  return Create(std::move(specs), DefaultPartitioner(options_.servers));
}

absl::Status ParameterJob::Create(std::vector<VariableSpec> specs,
                                  const Partitioner& partitioner) {
  absl::StatusOr<ShardMap> map =
      AddVariables(map_, std::move(specs), partitioner);
  if (!map.ok()) return map.status();
  return Install(*map);
}

absl::Status ParameterJob::Drop(std::vector<std::string> names) {
  absl::StatusOr<ShardMap> map = DropVariables(map_, names);
  if (!map.ok()) return map.status();
  return Install(*map);
}

absl::Status ParameterJob::NextGeneration(uint64_t watermark) {
  ++fence_.generation;
  const std::span<const VariableEntry> entries = map_.entries();
  absl::StatusOr<ShardMap> map =
      ShardMap::Make(fence_.generation, map_.version() + 1, map_.servers(),
                     std::vector<VariableEntry>(entries.begin(), entries.end()),
                     map_.next_id());
  if (!map.ok()) return map.status();
  return Install(*map, watermark);
}

uint32_t ParameterJob::Id(const std::string& name) {
  const VariableEntry* entry = map_.Find(name);
  EXPECT_NE(entry, nullptr) << name;
  return entry == nullptr ? 0 : entry->id;
}

UpdateId ParameterJob::NextStep() { return {.fence = fence_, .step = ++step_}; }

absl::StatusOr<std::vector<float>> ParameterJob::Read(const std::string& name) {
  const VariableEntry& entry = *map_.Find(name);
  std::vector<float> values(
      static_cast<size_t>(entry.spec.shape.num_elements()));
  PullItem item;
  item.variable = entry.id;
  item.into = std::as_writable_bytes(std::span(values));
  CAPSTAN_RETURN_IF_ERROR(Run(chief(), chief().Pull(std::span(&item, 1))));
  return values;
}

StoreReport ParameterJob::Status(uint32_t server) {
  absl::StatusOr<StoreReport> report = Run(chief(), chief().Status(server));
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *std::move(report) : StoreReport();
}

VariableReport ParameterJob::Report(const std::string& name, uint32_t shard) {
  const VariableEntry* entry = map_.Find(name);
  EXPECT_NE(entry, nullptr) << name;
  if (entry == nullptr) return {};
  for (const VariableReport& report :
       Status(entry->shards[shard].server).variables) {
    if (report.name == name && report.shard == shard) return report;
  }
  ADD_FAILURE() << "no report of " << name;
  return {};
}

absl::StatusOr<Reply> ParameterJob::Call(uint32_t server, Method method,
                                         std::string body,
                                         std::vector<Bytes> attachments,
                                         CallOptions options) {
  return Run(chief(), raw_channels_[server]->Call(method, std::move(body),
                                                  std::move(attachments),
                                                  std::move(options)));
}

uint64_t ParameterJob::Requests(uint32_t server) const {
  return servers_[server]->server->counters().requests;
}

void ParameterJob::CutAfter(uint64_t bytes) { cutting_->Arm(bytes, false); }
void ParameterJob::HoldAfter(uint64_t bytes) { cutting_->Arm(bytes, true); }
void ParameterJob::AwaitHeld() const {
  while (cutting_->held() == 0) std::this_thread::yield();
}
void ParameterJob::Release() { cutting_->Release(/*cut=*/false); }
void ParameterJob::ReleaseCut() { cutting_->Release(/*cut=*/true); }

}  // namespace capstan::testing
