#include "base/error.h"
#include "capstan/program.h"
#include "launch/local/task_options.h"
#include "launch/member_task.h"

namespace capstan {

struct TaskServer::Impl {
  std::unique_ptr<MemberTask> task;
};

TaskServer::TaskServer(const ResolvedCluster& cluster,
                       const Environment& environment,
                       const Definitions& definitions)
    : impl_(std::make_unique<Impl>()) {
  if (cluster.task && cluster.task->role == Role::kChief) {
    throw Error(ErrorCode::kInvalidArgument,
                "a TaskServer is a worker, ps or evaluator; the chief runs the "
                "program's body: use Program",
                cluster.task->ToString());
  }
  impl_->task = ValueOrThrow(
      MemberTask::Start(ValueOrThrow(ReadTaskOptions(environment, cluster)),
                        DefinitionsReader::Freeze(definitions)));
}

TaskServer::~TaskServer() = default;

void TaskServer::Join() { ThrowIfError(impl_->task->Join()); }

void TaskServer::Stop() { impl_->task->Stop(); }

}  // namespace capstan
