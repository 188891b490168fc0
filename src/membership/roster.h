// The coordinator's side of membership: it calls every task a few times per
// second, records what it learns, and finally ends the job. Workers may join
// and leave in the meantime.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/log.h"
#include "capstan/cluster_spec.h"
#include "wire/channel.h"
#include "wire/hello.h"
#include "wire/membership.h"
#include "wire/program.h"

namespace capstan {

struct RosterOptions {
  Hello self;
  // A task that stops answering is reported as silent within the sum of these
  // two; one whose process has exited, as unreachable within beat_interval.
  Duration beat_interval = std::chrono::milliseconds(250);
  Duration beat_timeout = std::chrono::milliseconds(1250);
  // How long to wait for a task to say whether it hears another coordinator.
  Duration ask_timeout = std::chrono::milliseconds(500);
  // Where this coordinator listens; others name it in messages.
  std::string address = {};
  // How long AwaitAll waits for another coordinator that tasks still hear. Must
  // be longer than tasks take to notice a dead one (MemberOptions::silence).
  Duration takeover_timeout = std::chrono::seconds(5);
  // What the program defines. A worker whose program defines something else is
  // told to leave. Null: not compared.
  std::shared_ptr<const ProgramDefinitions> definitions = nullptr;
  // How often AwaitAll logs which tasks it is waiting for.
  Duration reminder = std::chrono::seconds(5);
  // A job has already begun if a server that answers has variables. AwaitAll
  // then does not wait for unresponsive workers if at least one answers, and
  // waits for servers no longer than absent_timeout; after that it starts
  // without them if begin_without_servers is set.
  Duration absent_timeout = std::chrono::seconds(60);
  bool begin_without_servers = false;
  // How long End waits for each task's answer.
  Duration end_timeout = std::chrono::seconds(1);
  // Like end_timeout, for tasks that did not answer their last call. Such a
  // task may be just coming back, and would wait for a job that has ended. Long
  // enough for one retry.
  Duration absent_end_timeout = std::chrono::milliseconds(600);
  // Called on the executor when another coordinator has taken over: this one
  // must stop acting and exit.
  std::function<void(const absl::Status&)> on_deposed;
  // Called on the executor, after Report shows the change, when a task comes
  // up, is lost, comes back, was restarted (is another process) or has joined;
  // for each beat that a silent task leaves unanswered; and, as missing with
  // the error "has left the job", when Report no longer shows the task.
  std::function<void(const TaskEntry&)> on_change;
  // A task that joined and then is silent for this long has left the job.
  Duration forget_after = std::chrono::seconds(60);
  // Including the coordinator; beyond this, joining is refused.
  size_t max_tasks = 10'000;
};

class Roster {
 public:
  // The longest back-off that channels should use: it bounds how long it takes
  // to find a task that comes up.
  static constexpr Duration kMaxBackoff = std::chrono::milliseconds(500);

  // Makes the channel to a task; its calls must return a Refusal at once if
  // nobody listens there. The roster closes it. Called on the executor, until
  // the roster is destroyed.
  using NewChannel = std::function<std::unique_ptr<Channel>(
      const TaskId& task, const std::string& address)>;

  // `clock` must outlive what runs on the executor. The roster calls all tasks
  // of `spec` except self.
  Roster(Clock& clock, Logger logger, const Executor& executor,
         const ClusterSpec& spec, RosterOptions options,
         NewChannel new_channel);
  // Stops calling the tasks without notifying them.
  ~Roster();

  // On the executor: starts calling the tasks.
  void Start();

  // On the executor: waits until all workers and servers answer, or enough of a
  // job that has begun (see the options). DeadlineExceeded after `timeout`,
  // with those that are missing and why. FailedPrecondition or PermissionDenied
  // at once on an error that waiting does not fix, such as a task that belongs
  // to another job or runs another program. FailedPrecondition, naming the
  // other coordinator, if tasks still hear one after takeover_timeout. Aborted
  // if another coordinator has taken over, Cancelled after End.
  Task<absl::Status> AwaitAll(Duration timeout);

  // On the executor: tells all tasks that the job has ended, and stops.
  // Unavailable, naming the tasks, if some that were answering could not be
  // told; Aborted if they obey another coordinator.
  Task<absl::Status> End();

  // From any thread: adds a worker that will answer at `address` to the job and
  // starts calling it. Returns its id: if a worker that does not answer now has
  // this address, that worker's id, so that a join whose answer was lost can be
  // retried; otherwise an id with an index higher than any used before.
  // AlreadyExists if the address is that of a task that answers, or of one that
  // is not a worker; ResourceExhausted if the job is full; FailedPrecondition
  // if it has ended; InvalidArgument for an address of an unknown form.
  absl::StatusOr<TaskId> Join(const std::string& address);

  // From any thread: all tasks except the coordinator.
  JobReport Report() const;
  // From any thread: the coordinator's current claim to the job.
  CoordinatorTerm coordinator_term() const;
  // From any thread: all current tasks.
  ClusterSpec Spec() const;

 private:
  class Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace capstan
