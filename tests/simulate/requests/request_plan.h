// What one request does: everything follows from the seed and the request's
// token, so that both sides know it and neither has to be trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/async/clock.h"
#include "base/bytes.h"

namespace capstan::simulate {

// The mix of requests.
struct PlanOptions {
  // The share of messages with large attachments, which are sent in pieces.
  double large = 0.04;
  // The largest such attachment.
  uint64_t max_large = 400'000;
  double cancelled = 0.1;
  double short_deadlines = 0.1;
  double errors = 0.05;
  // The longest time that the service may take.
  Duration max_service_time = std::chrono::milliseconds(100);
  Duration timeout = std::chrono::seconds(6);
};

struct RequestPlan {
  // How the service receives the attachments.
  enum class Receive { kAll, kParts, kHalf, kNone };

  uint64_t token = 0;
  size_t body_bytes = 0;
  std::vector<size_t> attachments;
  Receive receive = Receive::kAll;
  Duration service_time{};
  // Whether the service stops early when the call is cancelled.
  bool heeds_cancel = false;

  // The answer: an error, or a body and attachments.
  absl::StatusCode error = absl::StatusCode::kOk;
  size_t reply_body_bytes = 0;
  std::vector<size_t> reply_attachments;

  // The caller.
  Duration timeout{};
  std::optional<Duration> cancel_after;
  // Receives the answer's attachments into the caller's memory.
  bool in_place = false;
  // Allows fewer bytes than the answer will have.
  bool too_little_room = false;
};

// Pure; used from one thread.
class Planner {
 public:
  Planner(uint64_t seed, PlanOptions options)
      : seed_(seed), options_(options) {}
  RequestPlan Plan(uint64_t token) const;

 private:
  const uint64_t seed_;
  const PlanOptions options_;
};

// The bytes of the parts of a message. `part` tells them apart: kRequestBody,
// kReplyBody, or kRequestPart and kReplyPart plus the attachment's index.
inline constexpr uint64_t kRequestBody = 0;
inline constexpr uint64_t kReplyBody = 1;
inline constexpr uint64_t kRequestPart = 1 << 20;
inline constexpr uint64_t kReplyPart = 2 << 20;
void FillPattern(uint64_t token, uint64_t part, MutableBytes out);
// Whether `bytes`, which begin `offset` bytes into the part, match FillPattern.
bool HasPattern(uint64_t token, uint64_t part, size_t offset, Bytes bytes);

// A body: the token, then `padding` bytes of pattern.
std::string MakeBody(uint64_t token, uint64_t part, size_t padding);
// The token of a body; nullopt if it is too short.
std::optional<uint64_t> TokenOf(std::string_view body);

}  // namespace capstan::simulate
