#include "simulate/requests/request_judge.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace capstan::simulate {
namespace {

// Only waiting takes time in the simulation, so a call may end late by no more
// than the steps that end it.
constexpr Duration kMaxLate = std::chrono::milliseconds(1);
// How long released memory is watched: longer than any old connection lives.
constexpr Duration kGraveTime = std::chrono::seconds(4);
constexpr std::byte kPoison{0xdb};

}  // namespace

uint64_t RequestJudge::OnSend(const SimNode& client, size_t server) {
  requests_.push_back({.server = server, .sent = world_.clock().Now()});
  const uint64_t token = requests_.size();
  ++tally_.requests;
  world_.trace().Add(world_.clock().Now(), client.name(), "request", token,
                     server);
  return token;
}

void RequestJudge::OnCancel(uint64_t token) {
  Request& request = requests_[token - 1];
  if (!request.ended) request.cancelled = world_.clock().Now();
}

void RequestJudge::OnResult(const SimNode& client, const RequestPlan& plan,
                            const absl::StatusOr<Reply>& reply,
                            const std::vector<MutableBytes>& places) {
  Request& request = requests_[plan.token - 1];
  request.ended = true;
  const absl::StatusCode code = reply.status().code();
  world_.trace().Add(world_.clock().Now(), client.name(), "result", plan.token,
                     static_cast<uint64_t>(code));
  CheckTime(client, plan, request, code);
  if (!reply.ok()) return CheckCode(plan, request, reply.status());
  ++tally_.replies;
  if (!request.answered) {
    Violation(plan.token, "was answered, but never served to its end");
  }
  CheckReply(plan, *reply, places);
}

void RequestJudge::CheckTime(const SimNode& client, const RequestPlan& plan,
                             const Request& request, absl::StatusCode code) {
  const MonotonicTime now = world_.clock().Now();
  const MonotonicTime deadline = request.sent + plan.timeout;
  // A stopped process is excused until it resumes.
  const MonotonicTime excused = client.resumed();
  if (now > std::max(deadline, excused) + kMaxLate) {
    Violation(plan.token, absl::StrCat("ended ", (now - deadline).count(),
                                       " ns after its deadline"));
  }
  if (code == absl::StatusCode::kDeadlineExceeded && now < deadline) {
    Violation(plan.token,
              absl::StrCat("says its deadline is exceeded ",
                           (deadline - now).count(), " ns before it is"));
  }
  if (request.cancelled != kNever &&
      now > std::max(request.cancelled, excused) + kMaxLate) {
    Violation(plan.token,
              absl::StrCat("ended ", (now - request.cancelled).count(),
                           " ns after it was cancelled"));
  }
}

void RequestJudge::CheckCode(const RequestPlan& plan, const Request& request,
                             const absl::Status& status) {
  bool right = false;
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
      ++tally_.late;
      right =
          !calm_ || plan.timeout < plan.service_time + std::chrono::seconds(1);
      break;
    case absl::StatusCode::kCancelled:
      ++tally_.cancelled;
      right = request.cancelled != kNever;
      break;
    case absl::StatusCode::kUnavailable:
      ++tally_.lost;
      right = !calm_;
      break;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kInvalidArgument:
      right = plan.too_little_room && request.answered;
      break;
    default:
      // The service's own errors carry the token.
      right = status.code() == plan.error && request.answered &&
              status.message().find(absl::StrCat("token ", plan.token, ".")) !=
                  absl::string_view::npos;
  }
  if (!right) {
    Violation(plan.token, absl::StrCat("ended with ", Describe(status)));
  } else if (TaskOf(status).empty()) {
    Violation(plan.token, absl::StrCat("does not say whom it concerns: ",
                                       Describe(status)));
  }
}

void RequestJudge::CheckReply(const RequestPlan& plan, const Reply& reply,
                              const std::vector<MutableBytes>& places) {
  if (plan.error != absl::StatusCode::kOk || plan.too_little_room) {
    Violation(plan.token, "succeeded where it should have failed");
    return;
  }
  if (reply.body != MakeBody(plan.token, kReplyBody, plan.reply_body_bytes)) {
    const std::optional<uint64_t> other = TokenOf(reply.body);
    Violation(plan.token, other && *other != plan.token
                              ? absl::StrCat("was given the answer to ", *other)
                              : "was given a wrong body");
    return;
  }
  if (reply.attachments.size() != plan.reply_attachments.size()) {
    Violation(plan.token, absl::StrCat("was given ", reply.attachments.size(),
                                       " attachments"));
    return;
  }
  for (size_t i = 0; i < reply.attachments.size(); ++i) {
    const MutableBytes& bytes = reply.attachments[i];
    if (bytes.size() != plan.reply_attachments[i] ||
        !HasPattern(plan.token, kReplyPart + i, 0, bytes)) {
      Violation(plan.token, absl::StrCat("attachment ", i, " is wrong"));
      return;
    }
    if (plan.in_place && bytes.data() != places[i].data()) {
      Violation(plan.token, absl::StrCat("attachment ", i, " is not in place"));
      return;
    }
  }
}

bool RequestJudge::OnServe(size_t server, uint64_t token) {
  if (token == 0 || token > requests_.size()) {
    Violation(token, "is served, but was never sent");
    return false;
  }
  Request& request = requests_[token - 1];
  if (request.server != server) {
    Violation(token, absl::StrCat("is served by server ", server,
                                  ", but was sent to ", request.server));
  }
  if (++request.served > 1) Violation(token, "is served twice");
  return true;
}

void RequestJudge::OnServed(uint64_t token) {
  requests_[token - 1].answered = true;
}

void RequestJudge::OnCorrupt(uint64_t token, std::string_view what) {
  Violation(token, absl::StrCat("arrived with ", std::string(what)));
}

void RequestJudge::Bury(uint64_t token, std::vector<std::byte> memory) {
  if (memory.empty()) return;
  std::fill(memory.begin(), memory.end(), kPoison);
  const uint64_t id = next_grave_++;
  graves_.emplace(id, Grave{token, std::move(memory)});
  world_.clock().ScheduleAfter(kGraveTime, [this, id] {
    const auto grave = graves_.extract(id);
    if (!grave.empty()) CheckGrave(grave.mapped());
  });
}

void RequestJudge::Exhume() {
  for (const auto& [id, grave] : graves_) CheckGrave(grave);
  graves_.clear();
}

void RequestJudge::CheckGrave(const Grave& grave) {
  const std::vector<std::byte>& bytes = grave.memory;
  // All bytes equal the first one if each equals its neighbour.
  if (bytes[0] != kPoison ||
      std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) != 0) {
    Violation(grave.token, "had its memory written to after it had ended");
  }
}

void RequestJudge::Violation(uint64_t token, std::string_view what) {
  violations_.Add(world_.clock().Now(),
                  absl::StrCat("request ", token, " ", std::string(what)));
}

}  // namespace capstan::simulate
