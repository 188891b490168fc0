// How planted bugs change requests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "wire/service.h"

namespace capstan::simulate {

// Larger than any step that the coordinator ever hands out.
inline constexpr uint64_t kForeignSteps = uint64_t{1} << 20;

// A request with its body replaced. `inner` must outlive it.
class BentCall final : public ServerCall {
 public:
  BentCall(ServerCall& inner, std::string body)
      : inner_(inner), body_(std::move(body)) {}

  Method method() const override { return inner_.method(); }
  std::string_view body() const override { return body_; }
  const Hello& peer() const override { return inner_.peer(); }
  MonotonicTime deadline() const override { return inner_.deadline(); }
  uint64_t reply_limit() const override { return inner_.reply_limit(); }
  bool cancelled() const override { return inner_.cancelled(); }
  void OnCancel(std::function<void()> listener) override {
    inner_.OnCancel(std::move(listener));
  }
  std::span<const uint64_t> attachment_sizes() const override {
    return inner_.attachment_sizes();
  }
  Task<absl::Status> Receive(MutableBytes into) override {
    return inner_.Receive(into);
  }
  Task<absl::StatusOr<Buffer>> ReceiveAll() override {
    return inner_.ReceiveAll();
  }

 private:
  ServerCall& inner_;
  const std::string body_;
};

}  // namespace capstan::simulate
