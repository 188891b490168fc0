// The parameters of the closures workload.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "simulate/digits/digit_options.h"
#include "simulate/scenario.h"

namespace capstan::simulate {

struct ClosureOptions {
  DigitMode mode = DigitMode::kAsync;  // kMixed is not used
  int servers = 2;
  int workers = 3;      // from the start
  int joiners = 0;      // this many join later
  int concurrency = 1;  // functions that a worker runs at once
  int replicas = 3;     // of sync and bounded
  int backup = 0;       // of sync: a number up to this, drawn by the seed
  int bound = 1;        // of bounded
  // Pairs of variables; a closure uses one pair. Each variable is cut into this
  // many shards; 0: one per server.
  int tables = 1;
  int shards = 0;
  // At most, per run: closures put, epochs started; per epoch: ranges of data,
  // each of this many examples except the last.
  int closures = 120;
  int epochs = 1000;
  int ranges = 12;
  int batch = 3;
  // For the dispatcher.
  int queue = 1000;
  int queued_per_worker = 2;
  int poison_limit = 1000;
  // The longest time between two Puts.
  Duration every = std::chrono::milliseconds(40);
  // How long a function computes: from `least_pause` to `pause`, and with
  // probability `stragglers` up to `straggle`.
  Duration least_pause = Duration::zero();
  Duration pause = std::chrono::milliseconds(80);
  double stragglers = 0.03;
  Duration straggle = std::chrono::milliseconds(800);
  // The chance, for each Put, that there is also a Join, a function that only
  // reads, or a Cancel of a closure put before; that nobody wants the result;
  // that the function fails, or kills its worker.
  double joins = 0.03;
  double evaluations = 0.05;
  double cancels = 0;
  double unwanted = 0.1;
  double failures = 0;
  double poisons = 0;
  // The chance that a request to run a closure also arrives late, in the
  // session after its own.
  double late_copies = 0.1;
  // The mean time until a worker leaves, and how long it is away at most; 0:
  // none leaves. `gentle`: workers are never lost in any other way.
  Duration worker_life = Duration::zero();
  Duration away = std::chrono::milliseconds(500);
  bool gentle = false;
  // Whether the coordinator has a real roster, which calls the servers, and how
  // long it waits for a silent server. It is told of workers in any case.
  bool roster = false;
  Duration server_timeout = std::chrono::seconds(60);
  // The mean time between false reports to the coordinator that a server is
  // lost, and how long it believes one; 0: never.
  Duration server_scares = Duration::zero();
  Duration scare = std::chrono::milliseconds(300);
  // Whether the coordinator may be killed. Its program then has one epoch and
  // no failures: closures are numbered in advance, and `ranges` counts all of
  // them.
  bool restarts = false;
  // Whether its steps also have keys.
  bool keys = false;
  // The share of the time that workers must spend computing, from when all are
  // there until nothing is left to take; 0: not measured.
  double min_busy = 0;

  bool sync() const { return mode == DigitMode::kSync; }
  bool bounded() const { return mode == DigitMode::kBounded; }
  size_t shards_per_variable() const {
    return static_cast<size_t>(shards == 0 ? servers : shards);
  }
  size_t num_tables() const { return static_cast<size_t>(tables); }
  size_t all_workers() const { return static_cast<size_t>(workers + joiners); }
};

// With the number of backups that `seed` draws. InvalidArgument, naming the
// file and the key.
absl::StatusOr<ClosureOptions> ReadClosureOptions(const Scenario& scenario,
                                                  uint64_t seed);

}  // namespace capstan::simulate
