// A parameter server on the caller's thread, where a test decides what happens
// between two turns of a request: it holds a shard's turn, lets requests
// proceed up to that point, and then releases the turn. Test-only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/event.h"
#include "base/async/task.h"
#include "server/parameter_service.h"
#include "simulation/sim_clock.h"
#include "variable/shard_map.h"
#include "wire/parameter.h"
#include "wire/probe_service.h"
#include "wire/shard_map_codec.h"

namespace capstan::testing {

// A request whose attachments arrive when the test says so.
class SteppedCall final : public ServerCall {
 public:
  SteppedCall(Executor executor, std::string role, Method method,
              std::string body, std::vector<std::string> attachments)
      : executor_(std::move(executor)),
        method_(method),
        body_(std::move(body)) {
    peer_.role = std::move(role);
    for (const std::string& attachment : attachments) {
      sizes_.push_back(attachment.size());
      data_ += attachment;
    }
    arrived_ = data_.size();
  }

  Method method() const override { return method_; }
  std::string_view body() const override { return body_; }
  const Hello& peer() const override { return peer_; }
  MonotonicTime deadline() const override { return kNever; }
  uint64_t reply_limit() const override { return UINT64_MAX; }
  bool cancelled() const override { return false; }
  void OnCancel(std::function<void()>) override {}
  std::span<const uint64_t> attachment_sizes() const override { return sizes_; }

  Task<absl::Status> Receive(MutableBytes into) override {
    while (arrived_ < received_ + into.size()) {
      more_.emplace(executor_);
      co_await more_->Wait();
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

  // The first `bytes` bytes have arrived; until this is called, all have.
  void Arrived(size_t bytes) {
    arrived_ = std::min(bytes, data_.size());
    if (more_) more_->Set();
  }

  // Whether the request has been answered.
  bool answered = false;
  ServerReply reply;

 private:
  const Executor executor_;
  const Method method_;
  const std::string body_;
  Hello peer_;
  std::vector<uint64_t> sizes_;
  std::string data_;
  size_t arrived_ = 0;
  size_t received_ = 0;
  std::optional<Event> more_;
};

class SteppedServer {
 public:
  using Call = std::shared_ptr<SteppedCall>;

  SteppedServer() : service_(clock_, StoreOptions(), probe_) {}

  // Sends a request from a task with `role`, which proceeds as far as it can.
  Call Send(const std::string& role, Method method, std::string body,
            std::vector<std::string> attachments = {}) {
    Call call = Begin(role, method, std::move(body), std::move(attachments));
    Run();
    return call;
  }
  // The same, but not yet run: the test may first say what has arrived.
  Call Begin(const std::string& role, Method method, std::string body,
             std::vector<std::string> attachments = {}) {
    auto call =
        std::make_shared<SteppedCall>(context_.get_executor(), role, method,
                                      std::move(body), std::move(attachments));
    Spawn(context_.get_executor(), Serve(call));
    return call;
  }
  // Lets all requests proceed as far as they can without time passing.
  void Run() {
    context_.restart();
    context_.poll();
  }
  // Runs this many steps of them.
  void RunSome(int steps) {
    context_.restart();
    for (int i = 0; i < steps; ++i) context_.poll_one();
  }
  // The same as Run until `duration` has passed.
  void RunFor(Duration duration) {
    const MonotonicTime until = clock_.Now() + duration;
    bool over = false;
    clock_.ScheduleAfter(duration, [&over] { over = true; });
    Run();
    while (!over && clock_.RunNext()) Run();
    EXPECT_EQ(clock_.Now(), until);
  }

  Call Install(const ShardMap& map, uint64_t term) {
    InstallRequest request;
    request.term = term;
    request.map = EncodeShardMap(map);
    return Send("chief", Method::kInstall, EncodeInstallRequest(request));
  }
  StoreReport Status() {
    const Call call = Send("admin", Method::kStoreStatus, "");
    EXPECT_TRUE(call->answered);
    absl::StatusOr<StoreReport> report = DecodeStoreReport(call->reply.body);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : StoreReport();
  }

  Turn& TurnOf(const ShardKey& key) {
    return service_.store().table()->Find(key)->turn();
  }

 private:
  Task<> Serve(Call call) {
    call->reply = co_await service_.Serve(*call);
    call->answered = true;
  }

  SimClock clock_;
  ProbeService probe_;
  ParameterService service_;
  asio::io_context context_;
};

}  // namespace capstan::testing
