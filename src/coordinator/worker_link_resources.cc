// The part of a link that has its worker make the resources of the program.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/worker_link.h"

namespace capstan {

bool WorkerLink::HasResources(const Session& session) const {
  const ResourceBook::Resources all = context_.resources.all();
  for (const auto& [id, info] : all) {
    if (!session.made.contains(id) && !session.failed.contains(id)) {
      return false;
    }
  }
  return std::all_of(session.made.begin(), session.made.end(),
                     [&](uint64_t id) { return all.contains(id); });
}

void WorkerLink::OnResources() {
  if (session_ == nullptr || !prepared_) return;
  if (HasResources(*session_)) return;
  prepared_ = false;
  event_.Set();
}

Task<> WorkerLink::MakeResources(SessionPtr session) {
  const ResourceBook::Resources all = context_.resources.all();
  DropRequest request;
  request.session = session->number;
  for (const uint64_t id : session->made) {
    if (!all.contains(id)) request.ids.push_back(id);
  }
  if (!request.ids.empty()) {
    std::string body = EncodeDropRequest(request);
    const absl::StatusOr<Reply> reply = co_await CallWorker(
        Method::kWorkerDrop, std::move(body), kShort, &session->cancellation);
    if (!reply.ok()) {
      Lose(session, reply.status());
      co_return;
    }
    for (const uint64_t id : request.ids) session->made.erase(id);
  }
  for (const auto& [id, info] : all) {
    if (session->made.contains(id) || session->failed.contains(id)) continue;
    session->making = info;
    session->making_since = context_.clock.Now();
    const absl::Status status = co_await MakeOne(session, id, info);
    session->making = nullptr;
    if (!session->lost.ok()) co_return;
    if (status.ok()) {
      session->made.insert(id);
    } else {
      context_.logger.Warning("{}", Describe(status));
      session->failed.emplace(id, status);
    }
  }
}

Task<absl::Status> WorkerLink::MakeOne(
    SessionPtr session, uint64_t id, std::shared_ptr<const ResourceInfo> info) {
  const std::vector<ResourceInfo>& known = session->reply.resources;
  const auto found = std::find_if(
      known.begin(), known.end(),
      [&](const ResourceInfo& one) { return one.name == info->name; });
  if (found == known.end() || found->type != info->type) {
    co_return WithTask(
        absl::FailedPreconditionError(
            absl::StrCat("resource '", info->name, "' is a ", info->type,
                         " on the coordinator and ",
                         found == known.end() ? "not defined"
                                              : absl::StrCat("a ", found->type),
                         " on ", task_, ": run the same program in all tasks")),
        task_);
  }
  MakeRequest request;
  request.session = session->number;
  request.id = id;
  request.resource = static_cast<uint32_t>(found - known.begin());
  const RoundRules rules = context_.queue.rules();
  request.input.num_input_pipelines =
      std::max(context_.num_workers(), index_ + 1);
  request.input.input_pipeline_id = index_;
  request.input.num_replicas_in_sync =
      rules.sync ? static_cast<int>(rules.replicas) : 1;
  std::string body = EncodeMakeRequest(request);
  // It may take as long as it likes.
  const absl::StatusOr<Reply> reply = co_await CallWorker(
      Method::kWorkerMake, std::move(body), kForever, &session->cancellation);
  if (!reply.ok()) {
    if (IsOfTheCall(reply.status())) co_return reply.status();
    Lose(session, reply.status());
    co_return reply.status();
  }
  const absl::StatusOr<RunReply> end = DecodeRunReply(reply->body);
  if (!end.ok()) co_return end.status();
  co_return end->error;
}

}  // namespace capstan
