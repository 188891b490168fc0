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
// coordinator, two workers and a server as threads. `capstan run` starts the
// same program as many processes; under TF_CONFIG, Slurm or Kubernetes it is
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
  // To be made first of all in main: if OpenBLAS is linked to the program, does
  // not know this CPU and has taken slow kernels for it, the program is started
  // again with better ones, once (docs/cluster.md).
  Program(int argc, char** argv);
  // With an environment of the caller's.
  explicit Program(Environment environment);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Plays this task's role to its end and returns the process's exit code.
  //
  // In the coordinator: waits for all workers and servers, saying for whom,
  // calls `body`, and then ends the job. In any other task: serves until the
  // job ends; `body` is not called. What goes wrong, in here or as an exception
  // of the body, is said in one line on standard error, and the code is 1.
  // A coordinator that another one takes the job from exits within 2 s, from
  // wherever it is. SIGTERM ends the tasks that serve in order, with code 143.
  // Says in one line on standard error where the cluster was found.
  int Run(const std::function<void(Cluster&)>& body);

 private:
  const Environment environment_;
};

// A cluster inside this process, for tests, notebooks and debuggers: the same
// tasks as anywhere, over memory instead of a network.
class CAPSTAN_EXPORT LocalCluster {
 public:
  // Throws kInvalidArgument unless there is at least one of each.
  explicit LocalCluster(int workers = 2, int servers = 1);
  // The workers run the functions of `definitions`.
  explicit LocalCluster(const Definitions& definitions, int workers = 2,
                        int servers = 1);
  // Ends the job, and with it all tasks.
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
  // what goes wrong at the start.
  explicit TaskServer(
      const ResolvedCluster& cluster,
      const Environment& environment = Environment::FromProcess(),
      const Definitions& definitions = Definitions());
  ~TaskServer();
  TaskServer(const TaskServer&) = delete;
  TaskServer& operator=(const TaskServer&) = delete;

  // Blocks until the job is over. Throws kUnavailable if the coordinator has
  // been gone for too long, kCancelled after Stop.
  void Join();

  // Ends Join. From any thread.
  void Stop();

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace capstan
