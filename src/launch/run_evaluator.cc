#include "launch/run_evaluator.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/error.h"
#include "capstan/coordinator.h"
#include "capstan/program.h"
#include "launch/member_task.h"
#include "launch/run_member.h"
#include "worker/definitions.h"

namespace capstan {

int RunEvaluatorTask(const TaskOptions& options,
                     const Definitions& definitions) {
  const EvaluatorBody& body = DefinitionsReader::Freeze(definitions)->evaluator;
  const std::unique_ptr<MemberTask> task =
      ValueOrThrow(MemberTask::Start(options));
  if (body == nullptr) {
    task->host().logger().Warning(
        "the program defines no evaluator (AddEvaluator in trainer.h): this "
        "task has nothing to do");
    return RunMember(*task);
  }
  std::atomic<bool> over = false;
  int code = 0;
  std::thread member([&] {
    code = RunMember(*task);
    over = true;
  });
  absl::Status failure;
  try {
    const int workers =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    LocalCluster own(definitions, workers, 1);
    ClusterCoordinator coordinator(own.cluster());
    EvaluatorTask evaluator{.coordinator = coordinator};
    evaluator.over = [&over] { return over.load(); };
    evaluator.checkpoint_directory = options.checkpoint_root;
    body(evaluator);
  } catch (...) {
    failure = StatusOfCurrentException();
    task->Stop();
  }
  member.join();
  ThrowIfError(failure);
  return code;
}

}  // namespace capstan
