#include "membership/membership_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "membership/member.h"
#include "wire/permissions.h"

namespace capstan {
namespace {

bool IsMembership(Method method) {
  return method == Method::kMemberBeat || method == Method::kMemberEnd ||
         method == Method::kTaskStatus || method == Method::kJobStatus ||
         method == Method::kJobJoin;
}

}  // namespace

MembershipService::MembershipService(std::string role,
                                     MembershipAnswers answers, Service& next)
    : role_(std::move(role)), answers_(std::move(answers)), next_(next) {}

Task<ServerReply> MembershipService::Serve(ServerCall& call) {
  if (Check(call).ok() && !IsMembership(call.method()))
    return next_.Serve(call);
  return Reply(call);
}

absl::Status MembershipService::Check(const ServerCall& call) const {
  return CheckPermission(call.method(), call.peer().role, role_);
}

Task<ServerReply> MembershipService::Reply(ServerCall& call) {
  ServerReply reply;
  reply.status = Check(call);
  if (!reply.status.ok()) co_return reply;
  absl::StatusOr<std::string> answer = Answer(call);
  if (answer.ok()) {
    reply.body = *std::move(answer);
  } else {
    reply.status = answer.status();
  }
  co_return reply;
}

absl::StatusOr<std::string> MembershipService::Answer(const ServerCall& call) {
  if (call.method() == Method::kTaskStatus) {
    return EncodeTaskReport(answers_.task());
  }
  if (call.method() == Method::kJobStatus) {
    if (answers_.job == nullptr) {
      return absl::UnimplementedError(
          "only the coordinator knows the state of the whole job: ask chief/0");
    }
    return EncodeJobReport(answers_.job());
  }
  if (call.method() == Method::kJobJoin) return AnswerJoin(call.body());
  if (answers_.member == nullptr) {
    return absl::UnimplementedError(
        "a coordinator obeys nobody: check the addresses of the cluster");
  }
  if (call.method() == Method::kMemberEnd) {
    const absl::StatusOr<EndNotice> notice = DecodeEndNotice(call.body());
    if (!notice.ok()) return notice.status();
    return EncodeTaskReport(answers_.member->OnEnd(*notice));
  }
  const absl::StatusOr<Beat> beat = DecodeBeat(call.body());
  if (!beat.ok()) return beat.status();
  return EncodeTaskReport(answers_.member->OnBeat(*beat, call.peer().session));
}

void MembershipService::OnDisconnect(const Hello& peer) {
  // The lanes of a channel share a session; beats are small.
  if (answers_.member == nullptr || peer.lane != Lane::kSmall) return;
  answers_.member->OnDisconnect(peer.session);
}

absl::StatusOr<std::string> MembershipService::AnswerJoin(
    std::string_view body) {
  if (answers_.join == nullptr) {
    return absl::UnimplementedError(
        "only the coordinator takes workers into the job: ask chief/0");
  }
  const absl::StatusOr<JoinRequest> request = DecodeJoinRequest(body);
  if (!request.ok()) return request.status();
  const absl::StatusOr<JoinReply> reply = answers_.join(*request);
  if (!reply.ok()) return reply.status();
  return EncodeJoinReply(*reply);
}

}  // namespace capstan
