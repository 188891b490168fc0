// Answers the membership methods in every task and forwards all others.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "wire/membership.h"
#include "wire/service.h"

namespace capstan {

class Member;

// Where the answers come from. A task sets `member`, the coordinator `job`.
struct MembershipAnswers {
  std::function<TaskReport()> task;
  Member* member = nullptr;
  std::function<JobReport()> job = nullptr;
  std::function<absl::StatusOr<JoinReply>(const JoinRequest&)> join = nullptr;
};

// First checks that the caller may call the method at all (wire/permissions.h).
// Thread-safe if its arguments are.
class MembershipService final : public Service {
 public:
  // `role` is the task's own. `next` and the member must outlive the service.
  MembershipService(std::string role, MembershipAnswers answers, Service& next);

  Task<ServerReply> Serve(ServerCall& call) override;
  void OnDisconnect(const Hello& peer) override;

 private:
  // Answers a membership method.
  absl::StatusOr<std::string> Answer(const ServerCall& call);
  absl::StatusOr<std::string> AnswerJoin(std::string_view body);
  Task<ServerReply> Reply(ServerCall& call);
  absl::Status Check(const ServerCall& call) const;

  const std::string role_;
  const MembershipAnswers answers_;
  Service& next_;
};

}  // namespace capstan
