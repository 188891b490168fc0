// A worker, a parameter server or an evaluator in this process.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "base/async/io_thread.h"
#include "base/file/file_system.h"
#include "launch/task_host.h"
#include "launch/worker_part.h"
#include "membership/member.h"
#include "membership/membership_service.h"
#include "server/parameter_service.h"
#include "wire/probe_service.h"

namespace capstan {

// Used from one thread, but for Stop.
class MemberTask {
 public:
  // Listens; the job goes on in the background. Errors as in TaskHost, and of
  // a directory for checkpoints that cannot be had.
  // A worker runs the functions of `definitions`, which others do not need.
  static absl::StatusOr<std::unique_ptr<MemberTask>> Start(
      TaskOptions options,
      std::shared_ptr<const DefinitionList> definitions = nullptr,
      std::shared_ptr<Network> network = nullptr);
  // Ends it without a word.
  ~MemberTask();

  // Waits for the end of the job: OK when the coordinator has said so;
  // Unavailable if it has been gone for too long; Cancelled after Stop. The
  // functions that a worker runs are told to end, and have 2 s for that.
  absl::Status Join();

  // How many functions have not ended at the end of Join. While there are any,
  // the destructor waits for them.
  size_t unended() const { return unended_; }

  // Ends Join. From any thread.
  void Stop() { member_->Stop(); }

  // Nothing runs any more, once the functions have ended. After Join.
  void StopThreads();

  const TaskHost& host() const { return *host_; }
  Executor executor() { return host_->executor(); }

 private:
  MemberTask(std::unique_ptr<TaskHost> host,
             std::shared_ptr<const DefinitionList> definitions,
             std::shared_ptr<FileSystem> checkpoints);
  // Which variables a parameter server has.
  void AddHoldings(TaskReport& report) const;

  // The host's threads, and the disk's, are stopped before any of this goes.
  const std::unique_ptr<TaskHost> host_;
  std::unique_ptr<IoThread> disk_;  // of a parameter server
  std::unique_ptr<Member> member_;
  ProbeService probe_;
  std::unique_ptr<ParameterService> parameters_;  // of a parameter server
  std::unique_ptr<WorkerPart> worker_;            // of a worker
  std::unique_ptr<MembershipService> service_;
  size_t unended_ = 0;
};

}  // namespace capstan
