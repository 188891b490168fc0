// A training program whose coordinator is told what to do by lines on its
// standard input, and answers with a line each: what was done, or
// "error CODE TASK MILLISECONDS MESSAGE". It ends when its input does.
//
//   coordinator_program DIRECTORY [OPTION=NUMBER ...]
//
// Functions wait for a file GATE in DIRECTORY, and while they do there is an
// empty file GATE.STEP.TASK.PID there, which stays. OPTIONs are those of
// CoordinatorOptions, times in milliseconds.
//
//   schedule FUNCTION COUNT [GATE]        "scheduled COUNT"
//   spread FUNCTION COUNT GATE THREADS    the same from so many threads, in the
//                                         background: "spread"
//   spread_end                            waits for them: "scheduled COUNT"
//   join | done                           "joined", "done 0" or "done 1"
//   until_error schedule | join | done    calls it until it throws
//   values                                what came of all that was scheduled:
//                                         "ok=3 Cancelled=1"
//   errors                                the codes of LastErrors
//   read                                  "first=4 second=2"
//   watch | unwatch                       reads 'first' all the time, from a
//                                         thread: "reads failed=0"
//   status | tasks | term
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capstan/coordinator.h"
#include "capstan/program.h"

namespace capstan {
namespace {

using StepFunction = Function<std::string, std::string>;

constexpr std::chrono::milliseconds kLook(2);

// What the functions of this program do, each with a gate's name.
class Steps {
 public:
  explicit Steps(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::map<std::string, StepFunction> AddTo(Definitions& program) const {
    std::map<std::string, StepFunction> functions;
    const auto add = [&](const std::string& name, auto body) {
      const auto run = [self = *this, body](WorkerContext& worker,
                                            const std::string& gate) {
        body(self, worker, gate);
        return worker.task();
      };
      functions.emplace(name, program.AddFunction(name, run));
    };
    // Adds 1 to 'first'; on a worker W for which there is a file slow-W, only
    // when that has gone.
    add("increment",
        [](const Steps& self, WorkerContext& worker, const std::string&) {
          const auto slow = self.folder_ / ("slow-" + Flat(worker.task()));
          while (std::filesystem::exists(slow)) worker.SleepFor(kLook);
          worker.Add("first", Tensor::Scalar<std::int64_t>(1));
        });
    // Adds 1 to 'first', and behind the gate 1 to 'second'.
    add("halves",
        [](const Steps& self, WorkerContext& worker, const std::string& gate) {
          worker.Add("first", Tensor::Scalar<std::int64_t>(1));
          self.WaitAt(gate, worker);
          worker.Add("second", Tensor::Scalar<std::int64_t>(1));
        });
    // Waits at the gate.
    add("wait", [](const Steps& self, WorkerContext& worker,
                   const std::string& gate) { self.WaitAt(gate, worker); });
    // The same, whether cancelled or not.
    add("stubborn",
        [](const Steps& self, WorkerContext& worker, const std::string& gate) {
          self.Note(gate, worker);
          while (!self.Open(gate)) std::this_thread::sleep_for(kLook);
        });
    // Throws, behind the gate.
    add("fail",
        [](const Steps& self, WorkerContext& worker, const std::string& gate) {
          self.WaitAt(gate, worker);
          throw std::runtime_error("told to fail");
        });
    // Kills its worker, behind another gate each time: GATE1, GATE2, ...
    add("poison",
        [](const Steps& self, WorkerContext& worker, const std::string& gate) {
          int number = 1;
          while (self.Open(gate + std::to_string(number))) ++number;
          self.WaitAt(gate + std::to_string(number), worker);
          ::kill(::getpid(), SIGKILL);
        });
    return functions;
  }

 private:
  static std::string Flat(std::string task) {
    std::replace(task.begin(), task.end(), '/', '-');
    return task;
  }
  bool Open(const std::string& gate) const {
    return std::filesystem::exists(folder_ / gate);
  }
  void Note(const std::string& name, const WorkerContext& worker) const {
    std::ofstream(folder_ /
                  (name + "." + std::to_string(worker.step()) + "." +
                   Flat(worker.task()) + "." + std::to_string(::getpid())));
  }
  void WaitAt(const std::string& gate, const WorkerContext& worker) const {
    Note(gate, worker);
    while (!Open(gate)) {
      if (worker.Cancelled()) Note("cancelled", worker);
      worker.ThrowIfCancelled();
      std::this_thread::sleep_for(kLook);
    }
  }

  const std::filesystem::path folder_;
};

std::int64_t Milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now() - since)
      .count();
}

// The coordinator, told what to do.
class Driver {
 public:
  Driver(Cluster& cluster, const CoordinatorOptions& options,
         std::map<std::string, StepFunction> functions)
      : cluster_(cluster),
        coordinator_(cluster, options),
        functions_(std::move(functions)) {
    coordinator_.CreateVariables(
        {{.name = "first", .shape = {}, .dtype = DType::kI64},
         {.name = "second", .shape = {}, .dtype = DType::kI64}});
  }

  std::string Do(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    const auto start = std::chrono::steady_clock::now();
    try {
      return Answer(verb, words);
    } catch (const Error& error) {
      std::ostringstream text;
      text << "error " << ErrorCodeName(error.code()) << " "
           << (error.task().empty() ? "-" : error.task()) << " "
           << Milliseconds(start) << " " << error.message();
      const auto* poisoned = dynamic_cast<const PoisonedClosure*>(&error);
      if (poisoned != nullptr) {
        text << " [PoisonedClosure";
        for (const std::string& worker : poisoned->workers()) {
          text << " " << worker;
        }
        text << "]";
      }
      return text.str();
    }
  }

 private:
  std::string Answer(const std::string& verb, std::istringstream& words) {
    if (verb == "schedule") return Schedule(words);
    if (verb == "spread") return Spread(words);
    if (verb == "spread_end") return SpreadEnd();
    if (verb == "join") {
      coordinator_.Join();
      return "joined";
    }
    if (verb == "done") return coordinator_.Done() ? "done 1" : "done 0";
    if (verb == "until_error") return UntilError(words);
    if (verb == "values") return Values();
    if (verb == "errors") return Errors();
    if (verb == "read") return Read();
    if (verb == "watch") return Watch();
    if (verb == "unwatch") return Unwatch();
    if (verb == "status") return Status();
    if (verb == "tasks") return Tasks();
    if (verb == "term") return std::to_string(cluster_.term());
    return "unknown: " + verb;
  }

  void ScheduleOne(const std::string& function, const std::string& gate) {
    auto value = coordinator_.Schedule(functions_.at(function), gate);
    const std::lock_guard lock(mutex_);
    scheduled_.push_back(std::move(value));
  }

  std::string Schedule(std::istringstream& words) {
    std::string function;
    std::string gate;
    int count = 0;
    words >> function >> count >> gate;
    for (int i = 0; i < count; ++i) ScheduleOne(function, gate);
    return "scheduled " + std::to_string(count);
  }

  std::string Spread(std::istringstream& words) {
    std::string function;
    std::string gate;
    int count = 0;
    int threads = 0;
    words >> function >> count >> gate >> threads;
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, function, count, gate, threads] {
        for (int one = 0; one < count / threads; ++one) {
          ScheduleOne(function, gate);
        }
      });
    }
    return "spread";
  }

  std::string SpreadEnd() {
    threads_.clear();
    const std::lock_guard lock(mutex_);
    return "scheduled " + std::to_string(scheduled_.size());
  }

  std::string UntilError(std::istringstream& words) {
    std::string verb;
    words >> verb;
    while (true) {
      if (verb == "schedule") ScheduleOne("increment", "");
      if (verb == "join") coordinator_.Join();
      if (verb == "done") coordinator_.Done();
      std::this_thread::sleep_for(kLook);
    }
  }

  std::string Values() {
    std::map<std::string, int> counts;
    const std::lock_guard lock(mutex_);
    for (const RemoteValue<std::string>& value : scheduled_) {
      try {
        value.Fetch();
        ++counts["ok"];
      } catch (const Error& error) {
        ++counts[std::string(ErrorCodeName(error.code()))];
      }
    }
    scheduled_.clear();
    std::string text;
    for (const auto& [name, count] : counts) {
      text += (text.empty() ? "" : " ") + name + "=" + std::to_string(count);
    }
    return text;
  }

  std::string Errors() {
    std::string text;
    for (const Error& error : coordinator_.LastErrors()) {
      text += (text.empty() ? "" : " ");
      text += ErrorCodeName(error.code());
    }
    return text;
  }

  std::string Read() {
    const std::vector<Tensor> values =
        coordinator_.ReadAll({"first", "second"});
    return "first=" + std::to_string(values[0].Values<std::int64_t>()[0]) +
           " second=" + std::to_string(values[1].Values<std::int64_t>()[0]);
  }

  std::string Watch() {
    watching_ = true;
    read_failures_ = 0;
    watcher_.emplace([this] {
      while (watching_) {
        try {
          coordinator_.Read("first");
        } catch (const Error& error) {
          std::cerr << "a read failed: " << error.what() << std::endl;
          ++read_failures_;
        }
      }
    });
    return "watching";
  }

  std::string Unwatch() {
    watching_ = false;
    watcher_ = std::nullopt;
    return "reads failed=" + std::to_string(read_failures_);
  }

  std::string Status() {
    const CoordinatorStatus status = coordinator_.Status();
    std::ostringstream text;
    text << "queued=" << status.queued << " in_flight=" << status.in_flight
         << " finished=" << status.finished << " failed=" << status.failed
         << " cancelled=" << status.cancelled << " retries=" << status.retries
         << " ready=" << status.ready_workers;
    return text.str();
  }

  std::string Tasks() {
    std::string text;
    for (const TaskInfo& info : cluster_.Tasks()) {
      text += (text.empty() ? "" : " ") + info.task.ToString() + "=";
      text += StateName(info.state);
    }
    return text;
  }

  Cluster& cluster_;
  ClusterCoordinator coordinator_;
  const std::map<std::string, StepFunction> functions_;
  std::mutex mutex_;  // guards scheduled_
  std::vector<RemoteValue<std::string>> scheduled_;
  std::atomic<bool> watching_ = false;
  std::atomic<int> read_failures_ = 0;
  std::optional<std::jthread> watcher_;
  std::vector<std::jthread> threads_;
};

CoordinatorOptions ReadOptions(int argc, char** argv) {
  CoordinatorOptions options;
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const std::string name = text.substr(0, text.find('='));
    const int number = std::stoi(text.substr(name.size() + 1));
    if (name == "queue_capacity") {
      options.queue_capacity = static_cast<std::size_t>(number);
    } else if (name == "max_lost_workers") {
      options.max_lost_workers = number;
    } else if (name == "no_worker_timeout") {
      options.no_worker_timeout = std::chrono::milliseconds(number);
    } else if (name == "server_timeout") {
      options.server_timeout = std::chrono::milliseconds(number);
    } else if (name == "watchdog") {
      options.watchdog = std::chrono::milliseconds(number);
    } else {
      throw std::invalid_argument("no option: " + name);
    }
  }
  return options;
}

int Main(int argc, char** argv) {
  const CoordinatorOptions options = ReadOptions(argc, argv);
  Program program(argc, argv);
  const auto functions = Steps(argv[1]).AddTo(program);
  return program.Run([&](Cluster& cluster) {
    Driver driver(cluster, options, functions);
    std::cout << "ready" << std::endl;
    std::string line;
    while (std::getline(std::cin, line)) {
      std::cout << driver.Do(line) << std::endl;
    }
  });
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
