// A client of the parameter servers of a cluster file, told what to do by lines
// on its standard input; answers with a line each, "ok ..." or "error ...".
//
//   parameter_program CLUSTER_FILE [TLS_DIRECTORY]
//
//   create NAME ROWS   an SGD variable of so many rows of 4, one shard for each
//                      server, on top of those that there are
//   push NAME STEP     gradients of 1, under this step
//   read NAME          the sum of its elements
#include <chrono>
#include <iostream>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/async/run_on.h"
#include "base/error.h"
#include "base/status.h"
#include "capstan/resolver.h"
#include "client/parameter_client.h"
#include "launch/task_host.h"

namespace capstan {
namespace {

constexpr Fence kFence = {.generation = 1, .term = 1};
constexpr Duration kTimeout = std::chrono::seconds(3);

class Driver {
 public:
  explicit Driver(TaskHost& host) : host_(host) {
    RunOn(host_.executor(), Connect());
  }

  std::string Do(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    std::string name;
    uint64_t number = 0;
    words >> verb >> name >> number;
    absl::StatusOr<std::string> answer =
        RunOn(host_.executor(), Answer(verb, name, number));
    if (answer.ok()) return absl::StrCat("ok ", *answer);
    return absl::StrCat("error ", Describe(answer.status()));
  }

 private:
  Task<> Connect() {
    std::vector<std::unique_ptr<Channel>> channels;
    const ClusterSpec& spec = host_.options().cluster.spec;
    for (const TaskId& task : spec.tasks()) {
      if (task.role != Role::kPs) continue;
      channels.push_back(
          host_.NewChannel(task.ToString(), spec.task_address(task)));
    }
    client_ = std::make_unique<ParameterClient>(
        host_.clock(), host_.executor(), std::move(channels), Random::FromOs());
    co_return;
  }

  Task<absl::StatusOr<std::string>> Answer(std::string verb, std::string name,
                                           uint64_t number) {
    if (verb == "create") co_return co_await Create(name, number);
    absl::StatusOr<const VariableEntry*> entry = client_->Find(name);
    if (!entry.ok()) co_return entry.status();
    std::vector<float> values(
        static_cast<size_t>((*entry)->spec.shape.num_elements()), 1.0F);
    if (verb == "push") {
      DenseItem item;
      item.variable = (*entry)->id;
      item.values = std::as_bytes(std::span(values));
      UpdateId id;
      id.fence = kFence;
      id.step = number;
      UpdateOptions options;
      options.timeout = kTimeout;
      absl::StatusOr<UpdateResult> done = co_await client_->Update(
          id, Operation::kGradient, std::span<const DenseItem>(&item, 1),
          std::span<const RowsItem>(), options);
      if (!done.ok()) co_return done.status();
      co_return absl::StrCat(done->applied, " applied, ", done->already_applied,
                             " already");
    }
    PullItem item;
    item.variable = (*entry)->id;
    item.into = std::as_writable_bytes(std::span(values));
    ReadOptions options;
    options.timeout = kTimeout;
    absl::Status status = co_await client_->Pull(std::span(&item, 1), options);
    if (!status.ok()) co_return status;
    co_return absl::StrCat(std::accumulate(values.begin(), values.end(), 0.0));
  }

  Task<absl::StatusOr<std::string>> Create(std::string name, uint64_t rows) {
    VariableSpec spec;
    spec.name = name;
    spec.shape = {static_cast<int64_t>(rows), 4};
    spec.optimizer = Sgd{.learning_rate = 1.0};
    absl::StatusOr<ShardMap> map = *client_->map();
    if (map->version() == 0) {
      map = ShardMap::Make(kFence.generation, 0, client_->num_servers(), {});
      if (!map.ok()) co_return map.status();
    }
    std::vector<VariableSpec> specs(1, spec);
    map = AddVariables(*map, std::move(specs),
                       FixedShards(client_->num_servers()));
    if (!map.ok()) co_return map.status();
    absl::Status status =
        co_await client_->Install(*map, kFence.term, 0, kTimeout);
    if (!status.ok()) co_return status;
    co_return absl::StrCat("version ", map->version());
  }

  TaskHost& host_;
  std::unique_ptr<ParameterClient> client_;
};

int Main(int argc, char** argv) {
  DetectOptions detect;
  detect.file = argv[1];
  detect.overrides.task_type = Role::kChief;
  detect.overrides.task_index = 0;
  TaskOptions options;
  options.cluster = DetectCluster(detect);
  options.log_level = LogLevel::kError;
  if (argc > 2) options.tls_directory = argv[2];
  const std::unique_ptr<TaskHost> host =
      ValueOrThrow(TaskHost::Create(std::move(options)));
  Driver driver(*host);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << driver.Do(line) << std::endl;
  }
  host->StopThreads();
  return 0;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) { return capstan::Main(argc, argv); }
