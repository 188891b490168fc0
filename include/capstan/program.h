// Start here: one program, every role.
//
//   int main(int argc, char** argv) {
//     capstan::Program program(argc, argv);
//     return program.Run([](capstan::Cluster& cluster) {
//       std::cout << ToTable(cluster.Tasks());
//     });
//   }
//
// Started without any configuration, it is a whole cluster in one process: a
// coordinator, two workers and a server, as threads. `capstan run` starts the
// same program as several processes; under TF_CONFIG, Slurm or Kubernetes it is
// one task of a cluster (resolver.h).
#pragma once

#include <functional>
#include <memory>

#include "capstan/cluster.h"
#include "capstan/export.h"
#include "capstan/resolver.h"
#include "capstan/worker.h"

namespace capstan {

class CAPSTAN_EXPORT Program : public Definitions {
 public:
  // Reads the environment, once. The arguments are the program's own.
  // Construct it first of all in main: if OpenBLAS is linked to the program,
  // does not know this CPU and has chosen slow kernels for it, the program is
  // restarted with better ones, once (docs/cluster.md).
  Program(int argc, char** argv);
  // With an environment supplied by the caller.
  explicit Program(Environment environment);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Runs this task's role until it ends, and returns the exit code of the
  // process.
  //
  // In the coordinator: waits for all workers and servers, saying which ones it
  // is waiting for, calls `body`, and then ends the job. In any other task:
  // serves until the job ends; `body` is not called. Errors, including
  // exceptions from the body, are reported in one line on standard error, and
  // the code is 1. A coordinator that another one takes the job from exits
  // within 2 s, whatever it is doing. SIGTERM makes the tasks that serve shut
  // down cleanly, with code 143. Reports in one line on standard error where
  // the cluster was found.
  int Run(const std::function<void(Cluster&)>& body);

 private:
  const Environment environment_;
};

// A cluster inside this process, for tests, notebooks and debuggers: the same
// tasks as in any other, connected through memory instead of a network.
class CAPSTAN_EXPORT LocalCluster {
 public:
  // Throws kInvalidArgument unless there is at least one of each.
  explicit LocalCluster(int workers = 2, int servers = 1);
  // The workers run the functions of `definitions`.
  explicit LocalCluster(const Definitions& definitions, int workers = 2,
                        int servers = 1);
  // Ends the job and all its tasks.
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  Cluster& cluster() noexcept;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// A worker, a parameter server or an evaluator in this process, like
// tf.distribute.Server: for programs that do not use Program.
class CAPSTAN_EXPORT TaskServer {
 public:
  // Listens at the task's address. Settings such as CAPSTAN_TLS are taken from
  // `environment` (docs/cluster.md). Throws kInvalidArgument for a chief, and
  // any error of the start.
  explicit TaskServer(
      const ResolvedCluster& cluster,
      const Environment& environment = Environment::FromProcess(),
      const Definitions& definitions = Definitions());
  ~TaskServer();
  TaskServer(const TaskServer&) = delete;
  TaskServer& operator=(const TaskServer&) = delete;

  // Blocks until the job has ended. Throws kUnavailable if the coordinator has
  // been gone for too long, kCancelled after Stop.
  void Join();

  // Ends Join, which then throws kCancelled. Any thread may call it.
  void Stop();

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace capstan
