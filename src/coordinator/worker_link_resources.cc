// The part of a link that has its worker make the program's resources.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "coordinator/worker_link.h"

namespace capstan {

InputContext WorkerLink::Input() const {
  const RoundRules rules = context_.queue.rules();
  InputContext input = context_.pipeline(index_);
  input.num_replicas_in_sync =
      rules.sync ? static_cast<int>(rules.replicas) : 1;
  return input;
}

bool WorkerLink::IsMade(const Session& session, uint64_t id,
                        const ResourceInfo& info) const {
  const auto found = session.made.find(id);
  if (found == session.made.end()) return false;
  return !info.input_pipeline || found->second.input == Input();
}

bool WorkerLink::HasResources(const Session& session) const {
  const ResourceRegistry::Resources all = context_.resources.all();
  for (const auto& [id, info] : all) {
    if (!IsMade(session, id, *info)) return false;
  }
  return std::all_of(
      session.made.begin(), session.made.end(),
      [&](const auto& item) { return all.contains(item.first); });
}

void WorkerLink::OnResources() {
  if (session_ == nullptr || HasResources(*session_)) return;
  // A resource whose context has changed is usable until the new one is made.
  const ResourceRegistry::Resources all = context_.resources.all();
  const bool any_new =
      std::any_of(all.begin(), all.end(), [this](const auto& item) {
        return !session_->made.contains(item.first);
      });
  if (any_new) prepared_ = false;
  event_.Set();
}

Task<> WorkerLink::MakeResources(SessionPtr session) {
  const ResourceRegistry::Resources all = context_.resources.all();
  DropRequest request;
  request.session = session->number;
  for (const auto& [id, resource] : session->made) {
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
    if (IsMade(*session, id, *info)) continue;
    session->making = info;
    session->making_since = context_.clock.Now();
    const InputContext input = Input();
    absl::Status status = co_await MakeOne(session, id, info, input);
    session->making = nullptr;
    if (!session->lost.ok()) co_return;
    if (!status.ok()) context_.logger.Warning("{}", Describe(status));
    session->made.insert_or_assign(id, Resource{std::move(status), input});
  }
}

Task<absl::Status> WorkerLink::MakeOne(SessionPtr session, uint64_t id,
                                       std::shared_ptr<const ResourceInfo> info,
                                       InputContext input) {
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
  request.input = input;
  std::string body = EncodeMakeRequest(request);
  // May take any time.
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
