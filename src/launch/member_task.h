// A worker, a parameter server or an evaluator in this process.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "launch/task_host.h"
#include "membership/member.h"
#include "membership/membership_service.h"
#include "server/parameter_service.h"
#include "wire/probe_service.h"

namespace capstan {

// Used from one thread, but for Stop.
class MemberTask {
 public:
  // Listens; the job goes on in the background. Errors as in TaskHost.
  static absl::StatusOr<std::unique_ptr<MemberTask>> Start(
      TaskOptions options, std::shared_ptr<Network> network = nullptr);
  // Ends it without a word.
  ~MemberTask();

  // Waits for the end of the job: OK when the coordinator has said so;
  // Unavailable if it has been gone for too long; Cancelled after Stop.
  absl::Status Join();

  // Ends Join. From any thread.
  void Stop() { member_->Stop(); }

  // Nothing runs any more. After Join.
  void StopThreads() { host_->StopThreads(); }

  const TaskHost& host() const { return *host_; }
  Executor executor() { return host_->executor(); }

 private:
  explicit MemberTask(std::unique_ptr<TaskHost> host);

  // The host's threads are stopped before any of this goes.
  const std::unique_ptr<TaskHost> host_;
  std::unique_ptr<Member> member_;
  ProbeService probe_;
  std::unique_ptr<ParameterService> parameters_;  // of a parameter server
  std::unique_ptr<MembershipService> service_;
};

}  // namespace capstan
