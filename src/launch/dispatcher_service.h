// The dispatcher of a coordinator, created when the program first asks for it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "base/async/io_thread.h"
#include "base/log.h"
#include "client/parameter_client.h"
#include "coordinator/coordinator_impl.h"
#include "coordinator/dispatcher.h"
#include "launch/task_host.h"
#include "membership/roster.h"
#include "wire/service.h"

namespace capstan {

// Answers kDispatchStatus and passes other calls on. Serves its calls on the
// host's executor.
class DispatcherService final : public Service {
 public:
  // `definitions` are those of the program; null means that workers may have
  // any. `roster` returns the roster, which must exist when the dispatcher is
  // opened. Whatever is passed by reference must outlive the dispatcher; the
  // host's threads must be stopped before the dispatcher is destroyed.
  DispatcherService(TaskHost& host,
                    std::shared_ptr<const ProgramDefinitions> definitions,
                    std::function<const Roster&()> roster, Service& next);
  // Call Close first.
  ~DispatcherService() override;

  // From any thread: the dispatcher, created with `options` if there is none
  // yet. InvalidArgument for invalid options.
  absl::StatusOr<std::shared_ptr<CoordinatorMaker::Impl>> Open(
      const CoordinatorOptions& options);

  // On the executor: news from the roster about a task.
  void OnTask(const TaskEntry& entry);

  // Ends whatever is running. Blocks; do not call it on the executor.
  void Close();

  Task<ServerReply> Serve(ServerCall& call) override;

 private:
  // On the executor.
  void Make(const DispatcherOptions& options);
  Task<ServerReply> Answer();

  TaskHost& host_;
  const std::shared_ptr<const ProgramDefinitions> definitions_;
  const std::function<const Roster&()> roster_;
  Service& next_;
  std::mutex opening_;
  // Made and destroyed on the executor.
  std::unique_ptr<ParameterClient> client_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<IoThread> callbacks_;
  std::shared_ptr<CoordinatorMaker::Impl> front_;  // guarded by opening_
};

}  // namespace capstan
