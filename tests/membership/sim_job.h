// A job in simulation: a node for each task, which run the real Member, Roster
// and Server. Test-only.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/log_capture.h"
#include "capstan/cluster_spec.h"
#include "membership/member.h"
#include "membership/roster.h"
#include "transport/sim/sim_world.h"

namespace capstan::testing {

class SimJob {
 public:
  SimJob(uint64_t seed, int workers, int servers);

  SimWorld& world() { return world_; }
  // "worker/1"; a second coordinator is "rival".
  SimNode& node(const std::string& name) { return *nodes_.at(name); }

  // Starts a task, or the coordinator if it is "chief/0" or "rival".
  void Start(const std::string& name);
  void StartAll();

  // Runs for this virtual time.
  void RunFor(Duration duration) { world_.RunFor(duration); }
  // Runs until `done` or for five minutes of virtual time.
  bool RunUntil(const std::function<bool()>& done);

  // What the coordinator knows of a task.
  TaskEntry Entry(const std::string& task,
                  const std::string& coordinator = "chief/0");
  const Office& office(const std::string& coordinator = "chief/0");

  // The coordinator ends the job.
  void End(const std::string& coordinator = "chief/0") {
    coordinators_[coordinator].end = true;
  }

  // How Member::Run ended, if it has.
  std::optional<absl::Status> Ended(const std::string& task) {
    return ended_[task];
  }
  // What AwaitAll, End and on_deposed said.
  struct Coordinator {
    Roster* roster = nullptr;  // null when it does not run
    bool end = false;
    std::optional<absl::Status> awaited;
    std::optional<absl::Status> told;
    std::optional<absl::Status> deposed;
    JobReport report;
  };
  Coordinator& coordinator(const std::string& name = "chief/0") {
    return coordinators_[name];
  }

  std::string Log() { return log_.Text(); }

  MemberOptions member_options;
  RosterOptions roster_options;
  Duration start_timeout = std::chrono::seconds(60);
  std::map<std::string, std::string> job_of;  // instead of "job"

 private:
  Hello Identity(SimNode& node, const std::string& name);
  Task<> RunMember(SimNode& node, std::string name);
  Task<> RunCoordinator(SimNode& node, std::string name);

  LogCapture log_;
  Logger logger_;
  ClusterSpec spec_;
  std::map<std::string, std::optional<absl::Status>> ended_;
  std::map<std::string, Coordinator> coordinators_;
  std::map<std::string, SimNode*> nodes_;
  // Last, so that what runs in it goes first.
  SimWorld world_;
};

}  // namespace capstan::testing
