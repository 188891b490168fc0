// The coordinator's side of a job: who is there. It calls every task a few
// times per second, keeps what it learns, and ends the job in the end. Workers
// may join meanwhile, and leave.
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
  // A task that stops answering is shown as silent after at most the sum of
  // these two; one whose process has ended, as unreachable after the first.
  Duration beat_interval = std::chrono::milliseconds(250);
  Duration beat_timeout = std::chrono::milliseconds(1250);
  // A task that does not answer for so long is not asked whether it hears
  // another coordinator.
  Duration ask_timeout = std::chrono::milliseconds(500);
  // Where this coordinator listens, for the messages of others.
  std::string address = {};
  // How long AwaitAll waits for another coordinator, which tasks hear, to go:
  // longer than tasks take to notice one that is dead (MemberOptions::silence).
  Duration takeover_timeout = std::chrono::seconds(5);
  // What the program defines. A worker whose program defines something else is
  // told to leave. Null: not compared.
  std::shared_ptr<const ProgramDefinitions> definitions = nullptr;
  // While AwaitAll waits it says for whom this often.
  Duration reminder = std::chrono::seconds(5);
  // Of a job that has begun, as a server that answers has variables, AwaitAll
  // does not wait for workers that do not answer, if one does. For servers it
  // waits no longer than this, and then begins without them if it may.
  Duration absent_timeout = std::chrono::seconds(60);
  bool begin_without_servers = false;
  // How long End waits for each task's answer.
  Duration end_timeout = std::chrono::seconds(1);
  // The same of tasks that did not answer last: one may be just coming back,
  // and would wait for a job that is over. Enough to try once more.
  Duration absent_end_timeout = std::chrono::milliseconds(600);
  // Called on the executor when another coordinator has taken over: this one
  // must do nothing more and exit.
  std::function<void(const absl::Status&)> on_deposed;
  // Called on the executor, after the change shows in Report, when a task comes
  // up, is lost, is back, is another process than before, or has joined; for
  // each beat that a silent one leaves unanswered; and, as missing with the
  // error "has left the job", when it shows there no more.
  std::function<void(const TaskEntry&)> on_change;
  // A task that joined and then gives no sign for so long has left.
  Duration forget_after = std::chrono::seconds(60);
  // With the coordinator: who comes on top of that may not join.
  size_t max_tasks = 10'000;
};

class Roster {
 public:
  // Channels should try again to connect at least this often: a task that comes
  // up is found as soon.
  static constexpr Duration kMaxBackoff = std::chrono::milliseconds(500);

  // The channel to a task, whose calls return a Refusal at once if nobody
  // listens there; the roster closes it. Called on the executor, until the
  // roster is destroyed.
  using NewChannel = std::function<std::unique_ptr<Channel>(
      const TaskId& task, const std::string& address)>;

  // `clock` must outlive what runs on the executor. All tasks of `spec` but
  // self are called.
  Roster(Clock& clock, Logger logger, const Executor& executor,
         const ClusterSpec& spec, RosterOptions options,
         NewChannel new_channel);
  // Stops calling, without a word to the tasks.
  ~Roster();

  // On the executor: begins to call.
  void Start();

  // On the executor: waits until all workers and servers answer, or enough of
  // a job that has begun (see the options).
  // DeadlineExceeded after `timeout`, with those that are missing and why.
  // FailedPrecondition or PermissionDenied at once, if a task belongs to
  // another job or runs another program, say: waiting would not mend it.
  // FailedPrecondition, naming the other one, if tasks still hear another
  // coordinator after takeover_timeout. Aborted if another coordinator has
  // taken over, Cancelled after End.
  Task<absl::Status> AwaitAll(Duration timeout);

  // On the executor: tells all tasks that the job is over, and stops.
  // Unavailable, naming them, if some that did answer could not be told;
  // Aborted if they obey another coordinator.
  Task<absl::Status> End();

  // From any thread: takes a worker into the job, which will answer at
  // `address`, and begins to call it. Returns which one it is: of an index
  // above all that there have been; or, if a worker that does not answer now
  // has this address, that one, so that a join whose answer got lost can be
  // repeated. AlreadyExists if the address is that of a task that answers, or
  // is no worker; ResourceExhausted if the job is full; FailedPrecondition if
  // it is over; InvalidArgument for an address in no known form.
  absl::StatusOr<TaskId> Join(const std::string& address);

  // From any thread: all tasks but the coordinator.
  JobReport Report() const;
  // From any thread: the coordinator's claim to the job, as it is now.
  CoordinatorTerm coordinator_term() const;
  // From any thread: all tasks that there are now.
  ClusterSpec Spec() const;

 private:
  class Core;
  const std::shared_ptr<Core> core_;
};

}  // namespace capstan
