// Fuzzes a parameter server: every verb with any body and any attachments.
// Whatever comes, nothing may crash or wait for ever, memory stays within the
// limit, and a refused call changes nothing.
//
// An input is a series of calls, to a server that has a few variables. Each:
//   1 byte   the method: the (byte % 19)-th of those of a server; and who
//   calls:
//            a worker if byte / 19 is odd, else the chief
//   2 bytes  the size of the body; then the body
//   1 byte   how many attachments, at most 7; for each 2 bytes of size, then
//            its bytes
// What is missing at the end is empty.
#include <algorithm>
#include <asio/io_context.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/async/task.h"
#include "base/bytes.h"
#include "server/parameter_service.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_file_system.h"
#include "variable/shard_map.h"
#include "wire/parameter.h"
#include "wire/probe_service.h"
#include "wire/shard_map_codec.h"

namespace capstan::fuzz {
namespace {

constexpr uint64_t kMemoryLimit = 8 << 20;

// Those of a server are two ranges of numbers: 32 to 46, and 55 to 58.
constexpr size_t kFirst = static_cast<size_t>(Method::kSnapshotDrop) -
                          static_cast<size_t>(Method::kInstall) + 1;
constexpr size_t kSecond = static_cast<size_t>(Method::kStageDrop) -
                           static_cast<size_t>(Method::kStageRows) + 1;
constexpr size_t kMethods = kFirst + kSecond;

Method MethodOf(size_t number) {
  number %= kMethods;
  return static_cast<Method>(
      number < kFirst
          ? static_cast<size_t>(Method::kInstall) + number
          : static_cast<size_t>(Method::kStageRows) + number - kFirst);
}

// Like assert, in every build.
void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

// Reads the input from its start.
class Input {
 public:
  explicit Input(std::string_view bytes) : left_(bytes) {}
  bool empty() const { return left_.empty(); }
  size_t Number(size_t bytes) {
    size_t number = 0;
    for (const char c : Take(bytes)) {
      number = number << 8 | static_cast<uint8_t>(c);
    }
    return number;
  }
  std::string Take(size_t bytes) {
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(taken.size());
    return std::string(taken);
  }

 private:
  std::string_view left_;
};

// A call that has arrived whole, from a caller who waits for no time at all.
class FuzzCall final : public ServerCall {
 public:
  FuzzCall(const char* role, Method method, std::string body,
           const std::vector<std::string>& parts, MonotonicTime deadline)
      : method_(method), body_(std::move(body)), deadline_(deadline) {
    peer_.role = role;
    for (const std::string& part : parts) {
      sizes_.push_back(part.size());
      data_ += part;
    }
  }

  Method method() const override { return method_; }
  std::string_view body() const override { return body_; }
  const Hello& peer() const override { return peer_; }
  MonotonicTime deadline() const override { return deadline_; }
  uint64_t reply_limit() const override { return 1 << 20; }
  bool cancelled() const override { return false; }
  void OnCancel(std::function<void()>) override {}
  std::span<const uint64_t> attachment_sizes() const override { return sizes_; }
  Task<absl::Status> Receive(MutableBytes into) override {
    if (into.size() > data_.size() - received_) {
      co_return absl::OutOfRangeError("not so many left");
    }
    if (!into.empty()) {
      std::memcpy(into.data(), data_.data() + received_, into.size());
    }
    received_ += into.size();
    co_return absl::OkStatus();
  }
  Task<absl::StatusOr<Buffer>> ReceiveAll() override {
    absl::StatusOr<Buffer> buffer =
        Buffer::Allocate(data_.size() - received_, Fill::kNone);
    if (!buffer.ok()) co_return buffer.status();
    absl::Status status = co_await Receive(buffer->mutable_bytes());
    if (!status.ok()) co_return status;
    co_return buffer;
  }

 private:
  const Method method_;
  const std::string body_;
  const MonotonicTime deadline_;
  Hello peer_;
  std::vector<uint64_t> sizes_;
  std::string data_;
  size_t received_ = 0;
};

// A server with a few variables, and the world that it needs.
class World {
 public:
  World() : service_(clock_, Options(), probe_) {
    InstallRequest install;
    install.term = 1;
    install.map = EncodeShardMap(Variables());
    const ServerReply reply =
        Serve("chief", Method::kInstall, EncodeInstallRequest(install), {});
    Require(reply.status.ok(), "the variables are created");
  }

  ServerReply Serve(const char* role, Method method, std::string body,
                    std::vector<std::string> parts) {
    FuzzCall call(role, method, std::move(body), std::move(parts),
                  clock_.Now());
    ServerReply reply;
    bool done = false;
    Spawn(context_.get_executor(), Run(call, reply, done));
    while (!done) {
      context_.restart();
      if (context_.poll() == 0 && !clock_.RunNext()) break;
    }
    Require(done, "a call ends");
    return reply;
  }

  uint64_t used() const { return service_.store().budget().used(); }

 private:
  static StoreOptions Options() {
    StoreOptions options;
    options.memory_limit = kMemoryLimit;
    // Where a file named "p" with an "x" in it is the probe.
    options.checkpoints = std::make_shared<SimFileSystem>();
    Require(options.checkpoints->CreateDir("c").ok(), "a directory");
    Require(
        ReplaceFile(*options.checkpoints, "c/p", AsBytes(std::string_view("x")))
            .ok(),
        "a probe");
    return options;
  }

  static ShardMap Variables() {
    std::vector<VariableSpec> specs(5);
    for (size_t i = 0; i < specs.size(); ++i) {
      specs[i].name = std::string(1, static_cast<char>('a' + i));
      specs[i].shape = {8, 4};
    }
    specs[0].optimizer = Adagrad{};
    specs[1].optimizer = Sgd{};
    specs[1].update = Sync{.replicas = 2, .backup = 1};
    specs[2].optimizer = Adam{.row_moments = RowMoments::kExact};
    specs[2].update = BoundedStaleness{.replicas = 2, .bound = 1};
    specs[2].non_finite = NonFinite::kSkip;
    specs[3].dtype = DType::kI32;
    specs[4].dtype = DType::kBF16;
    specs[4].initializer = Unset{};
    absl::StatusOr<ShardMap> empty = ShardMap::Make(1, 0, 1, {});
    Require(empty.ok(), "an empty map");
    absl::StatusOr<ShardMap> map =
        AddVariables(*empty, std::move(specs), FixedShards(1));
    Require(map.ok(), "a map");
    return *std::move(map);
  }

  Task<> Run(FuzzCall& call, ServerReply& reply, bool& done) {
    reply = co_await service_.Serve(call);
    done = true;
  }

  SimClock clock_;
  ProbeService probe_;
  ParameterService service_;
  asio::io_context context_;
};

}  // namespace
}  // namespace capstan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace capstan;
  using namespace capstan::fuzz;
  World world;
  Input input(std::string_view(reinterpret_cast<const char*>(data), size));
  for (int calls = 0; calls < 16 && !input.empty(); ++calls) {
    const size_t number = input.Number(1);
    const Method method = MethodOf(number);
    const char* role = number / kMethods % 2 == 1 ? "worker" : "chief";
    std::string body = input.Take(input.Number(2));
    std::vector<std::string> parts(input.Number(1) % 8);
    for (std::string& part : parts) part = input.Take(input.Number(2));
    const ServerReply reply =
        world.Serve(role, method, std::move(body), std::move(parts));
    uint64_t bytes = 0;
    for (const Bytes& part : reply.attachments) {
      for (const std::byte b : part) bytes += static_cast<uint8_t>(b) == 0;
    }
    Require(bytes <= 1 << 20, "an answer within its limit");
    Require(world.used() <= kMemoryLimit, "memory within its limit");
  }
  return 0;
}
