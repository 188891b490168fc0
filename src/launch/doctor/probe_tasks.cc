#include "launch/doctor/probe_tasks.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/async/run_on.h"
#include "base/async/waiter.h"
#include "wire/channel.h"
#include "wire/method.h"

namespace capstan {
namespace {

// One run of ProbeTasks, on the client's thread.
class Prober {
 public:
  explicit Prober(AdminClient& client) : client_(client) {
    const ClusterSpec& spec = client.options().cluster.spec;
    for (const TaskId& task : spec.tasks()) {
      probes_.push_back({.task = task, .address = spec.task_address(task)});
    }
  }

  std::vector<TaskProbe> Run() { return RunOn(client_.executor(), RunHere()); }

 private:
  Task<std::vector<TaskProbe>> RunHere() {
    Waiter done(client_.executor());
    size_t left = probes_.size();
    for (TaskProbe& probe : probes_) {
      Spawn(client_.executor(), AskOne(probe, left, done));
    }
    while (left > 0) co_await done.Sleep();
    for (TaskProbe& probe : probes_) {
      if (!probe.status.ok()) continue;
      probe.status = co_await Measure(probe);
    }
    co_return std::move(probes_);
  }

  Task<> AskOne(TaskProbe& probe, size_t& left, Waiter& done) {
    absl::StatusOr<std::string> body =
        co_await client_.Ask(probe.task, Method::kTaskStatus);
    absl::StatusOr<TaskReport> report =
        body.ok() ? DecodeTaskReport(*body) : body.status();
    if (report.ok()) {
      probe.report = *std::move(report);
    } else {
      probe.status = report.status();
      const MonotonicTime start = client_.clock().Now();
      probe.connected = co_await client_.TryToConnect(probe.task);
      probe.tried = client_.clock().Now() - start;
    }
    --left;
    done.Wake();
  }

  Task<absl::Status> Measure(TaskProbe& probe) {
    const std::unique_ptr<Channel> channel = client_.NewChannel(probe.task);
    std::vector<Duration> times;
    absl::Status status;
    // The first round connects, and does not count.
    for (int i = 0; status.ok() && i <= TaskProbe::kRounds; ++i) {
      const MonotonicTime start = client_.clock().Now();
      status = co_await Echo(*channel);
      if (i > 0) times.push_back(client_.clock().Now() - start);
    }
    co_await channel->Close();
    if (!status.ok()) co_return status;
    std::sort(times.begin(), times.end());
    probe.round_trip = times[times.size() / 2];
    co_return absl::OkStatus();
  }

  Task<absl::Status> Echo(Channel& channel) {
    std::string nothing;
    const Bytes all = AsBytes(payload_);
    std::vector<Bytes> attachments(1, all);
    CallOptions call;
    call.timeout = client_.options().timeout;
    absl::StatusOr<Reply> reply =
        co_await channel.Call(Method::kProbeEcho, std::move(nothing),
                              std::move(attachments), std::move(call));
    co_return reply.status();
  }

  AdminClient& client_;
  const std::string payload_ = std::string(TaskProbe::kBytes, 'x');
  std::vector<TaskProbe> probes_;
};

}  // namespace

bool TaskProbe::refused() const {
  return !status.ok() && !absl::IsUnavailable(status) &&
         !absl::IsDeadlineExceeded(status);
}

std::vector<TaskProbe> ProbeTasks(AdminClient& client) {
  return Prober(client).Run();
}

}  // namespace capstan
