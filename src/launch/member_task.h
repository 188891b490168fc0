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

// Used from one thread, except Stop.
class MemberTask {
 public:
  // Listens; the job runs in the background. Fails like TaskHost, or if the
  // checkpoint directory cannot be opened. A worker runs the functions of
  // `definitions`; other roles do not need them.
  static absl::StatusOr<std::unique_ptr<MemberTask>> Start(
      TaskOptions options,
      std::shared_ptr<const DefinitionList> definitions = nullptr,
      std::shared_ptr<Network> network = nullptr);
  // Ends the task without notifying anybody.
  ~MemberTask();

  // Waits for the end of the job: OK when the coordinator has announced it;
  // Unavailable if the coordinator has been gone for too long; Cancelled after
  // Stop. Functions running on a worker are told to end and have 2 s to do so.
  absl::Status Join();

  // How many functions had not ended when Join returned. The destructor waits
  // for them.
  size_t unended() const { return unended_; }

  // Ends Join. From any thread.
  void Stop() { member_->Stop(); }

  // After Join: nothing runs any more, once the functions have ended.
  void StopThreads();

  const TaskHost& host() const { return *host_; }
  Executor executor() { return host_->executor(); }

 private:
  MemberTask(std::unique_ptr<TaskHost> host,
             std::shared_ptr<const DefinitionList> definitions,
             std::shared_ptr<FileSystem> checkpoints);
  // Adds the variables that a parameter server holds.
  void AddHoldings(TaskReport& report) const;

  // The threads of the host and the disk are stopped before any of these are
  // destroyed.
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
