// A job in simulation: a node for each task, which run the real Member, Roster
// and Server. Test-only.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "capstan/cluster_spec.h"
#include "membership/member.h"
#include "membership/roster.h"
#include "simulation/sim_world.h"
#include "testing/log_capture.h"

namespace capstan::testing {

inline constexpr Duration kSecond = std::chrono::seconds(1);

class SimJob {
 public:
  SimJob(uint64_t seed, int workers, int servers);

  SimWorld& world() { return world_; }
  // "worker/1"; a second coordinator is "rival".
  SimNode& node(const std::string& name) { return *nodes_.at(name); }

  // Starts a task, or the coordinator if it is "chief/0" or "rival".
  void Start(const std::string& name);
  void StartAll();

  // Adds a machine that is in no description; its process, now and when it is
  // restarted, asks the coordinator until it is told which worker it is, and
  // then is that.
  void StartJoining(const std::string& machine);
  // What it was told last: "worker/2"; empty before.
  std::string JoinedAs(const std::string& machine) {
    return joined_as_[machine];
  }
  // Why it may not join; empty if nobody has said that.
  std::optional<absl::Status> TurnedAway(const std::string& machine) {
    return turned_away_[machine];
  }

  // Runs for this virtual time.
  void RunFor(Duration duration) { world_.RunFor(duration); }
  // Runs until `done` or for five minutes of virtual time.
  bool RunUntil(const std::function<bool()>& done);

  // What the coordinator knows of a task.
  TaskEntry Entry(const std::string& task,
                  const std::string& coordinator = "chief/0");
  const CoordinatorTerm& coordinator_term(
      const std::string& coordinator = "chief/0");

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
    // What on_change said, as "worker/0 healthy".
    std::vector<std::string> changes;
  };
  Coordinator& coordinator(const std::string& name = "chief/0") {
    return coordinators_[name];
  }

  std::string Log() { return log_.Text(); }

  MemberOptions member_options;
  RosterOptions roster_options;
  Duration start_timeout = std::chrono::seconds(60);
  std::map<std::string, std::string> job_of;  // instead of "job"
  // Instead of those of member_options.
  std::map<std::string, ProgramDefinitions> definitions_of;

 private:
  Hello Identity(SimNode& node, const std::string& name);
  Task<> RunMember(SimNode& node, std::string name);
  Task<> RunJoiner(SimNode& node, std::string machine);
  Task<absl::StatusOr<JoinReply>> AskToJoin(SimNode& node, std::string address);
  // `self` listens there, until its Member ends.
  Task<> Serve(SimNode& node, std::string name, Hello self,
               std::string address);
  Task<> RunCoordinator(SimNode& node, std::string name);

  LogCapture log_;
  Logger logger_;
  ClusterSpec spec_;
  std::map<std::string, std::optional<absl::Status>> ended_;
  std::map<std::string, std::string> joined_as_;
  std::map<std::string, std::optional<absl::Status>> turned_away_;
  std::map<std::string, Coordinator> coordinators_;
  std::map<std::string, SimNode*> nodes_;
  // Last, so that what runs in it goes first.
  SimWorld world_;
};

}  // namespace capstan::testing
