// The coordinator in this process.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "launch/dispatcher_service.h"
#include "launch/task_host.h"
#include "membership/membership_service.h"
#include "membership/roster.h"
#include "wire/probe_service.h"
#include "worker/definitions.h"

namespace capstan {

// Used from one thread, except where noted.
class CoordinatorTask {
 public:
  using OnDeposed = std::function<void(const absl::Status&)>;

  // Listens and starts calling the other tasks. Workers must have the same
  // `definitions`, or any if it is null. `on_deposed` as in RosterOptions.
  // Errors as in TaskHost.
  static absl::StatusOr<std::unique_ptr<CoordinatorTask>> Start(
      TaskOptions options, std::shared_ptr<const DefinitionList> definitions,
      const OnDeposed& on_deposed = nullptr,
      std::shared_ptr<Network> network = nullptr);
  // Does not notify the tasks; End does.
  ~CoordinatorTask();

  // As Roster::AwaitAll, with the timeout from the options.
  absl::Status AwaitAll();
  // Ends what the dispatcher runs, creates the over_file of the options, then
  // does what Roster::End does.
  absl::Status End();

  // From any thread: as DispatcherService::Open.
  absl::StatusOr<std::shared_ptr<CoordinatorMaker::Impl>> OpenDispatcher(
      const CoordinatorOptions& options) {
    return dispatcher_->Open(options);
  }

  // From any thread: all tasks, with the coordinator first.
  JobReport Report() const;

  // From any thread: Aborted once another coordinator has taken over, otherwise
  // OK.
  absl::Status deposed() const;

  const TaskHost& host() const { return *host_; }

 private:
  CoordinatorTask(std::unique_ptr<TaskHost> host,
                  std::shared_ptr<const ProgramDefinitions> definitions);
  void MakeRoster(const OnDeposed& on_deposed);
  // From any thread: the reply to a worker that wants to join.
  absl::StatusOr<JoinReply> Join(const JoinRequest& request);
  // The coordinator's own entry.
  TaskReport Self() const;

  // The host's threads are stopped before any of these are destroyed.
  const std::unique_ptr<TaskHost> host_;
  const std::shared_ptr<const ProgramDefinitions> definitions_;
  const MonotonicTime started_;
  std::unique_ptr<Roster> roster_;
  ProbeService probe_;
  std::unique_ptr<DispatcherService> dispatcher_;
  std::unique_ptr<MembershipService> service_;

  // Guards what is below.
  mutable std::mutex mutex_;
  absl::Status deposed_;
};

}  // namespace capstan
