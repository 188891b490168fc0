// What each worker has one of: datasets, tables, models.
#include <atomic>
#include <future>
#include <set>

#include "coordinator/helpers.h"

namespace capstan {
namespace {

using testing::AddTo;
using ::testing::AllOf;
using testing::Door;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;

class ResourceTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  const CoordinatorOptions options_ = testing::WithCapacity(GetParam());
};

INSTANTIATE_TEST_SUITE_P(, ResourceTest,
                         ::testing::Values(testing::kWide, testing::kNarrow),
                         testing::CapacityName);

// The numbers 1, 2, ..., `last`.
auto UpTo(std::int64_t last) {
  return [last](const InputContext&) {
    return [next = std::int64_t{0}, last]() mutable {
      return next < last ? std::optional(++next) : std::nullopt;
    };
  };
}

// Behaviour 14.
TEST_P(ResourceTest, EachNewIteratorBeginsAtTheBeginning) {
  Definitions definitions;
  const auto numbers = definitions.AddDataset("numbers", UpTo(100));
  const auto next = definitions.AddFunction(
      "next", [](WorkerContext& worker, PerWorker<Iterator<std::int64_t>> it) {
        const std::int64_t element = it->Next();
        AddTo(worker, "sum", element);
        return element;
      });
  // With one worker the order is known.
  Job job(definitions, 1, 1, options_);
  job.CreateCounter("sum");
  PerWorkerDataset<std::int64_t> dataset =
      job.coordinator.CreatePerWorkerDataset(numbers);
  for (int epoch = 0; epoch < 2; ++epoch) {
    const auto iterator = dataset.MakeIterator();
    std::vector<RemoteValue<std::int64_t>> values;
    for (int i = 0; i < 3; ++i) {
      values.push_back(job.coordinator.Schedule(next, iterator));
    }
    EXPECT_THAT(job.coordinator.Fetch(values), ElementsAre(1, 2, 3));
  }
  job.coordinator.Join();
  EXPECT_EQ(job.Count("sum"), 12);
}

// Behaviour 14, with workers that each have their own.
TEST_P(ResourceTest, EveryWorkerReadsItsOwnIterator) {
  Definitions definitions;
  const auto numbers = definitions.AddDataset("numbers", UpTo(1000));
  const auto next = definitions.AddFunction(
      "next", [](WorkerContext& worker, PerWorker<Iterator<std::int64_t>> it) {
        return std::make_pair(worker.worker_index(), it->Next());
      });
  Job job(definitions, 3, 1, options_);
  const auto iterator =
      job.coordinator.CreatePerWorkerDataset(numbers).MakeIterator();
  std::vector<RemoteValue<std::pair<int, std::int64_t>>> values;
  for (int i = 0; i < 60; ++i) {
    values.push_back(job.coordinator.Schedule(next, iterator));
  }
  std::map<int, std::set<std::int64_t>> seen;
  for (const auto& [worker, element] : job.coordinator.Fetch(values)) {
    EXPECT_TRUE(seen[worker].insert(element).second);
  }
  std::size_t total = 0;
  for (const auto& [worker, elements] : seen) {
    EXPECT_EQ(*elements.begin(), 1);
    EXPECT_EQ(*elements.rbegin(), static_cast<std::int64_t>(elements.size()));
    total += elements.size();
  }
  EXPECT_EQ(total, 60u);
}

// Behaviour 16: what is traced there is made here, once per worker and
// iterator.
TEST_P(ResourceTest, ADatasetIsMadeOnceOnEachWorkerForEachIterator) {
  std::mutex mutex;
  std::vector<int> made;
  Definitions definitions;
  const auto dataset =
      definitions.AddDataset("dataset", [&](const InputContext& input) {
        const std::lock_guard lock(mutex);
        EXPECT_EQ(input.num_input_pipelines, 3);
        EXPECT_EQ(input.num_replicas_in_sync, 1);
        made.push_back(input.input_pipeline_id);
        return [] { return std::optional(1); };
      });
  std::atomic<int> arrived = 0;
  Door all;
  const auto use = definitions.AddFunction(
      "use", [&](WorkerContext& worker, PerWorker<Iterator<int>> iterator) {
        if (++arrived == 3) all.Open();
        all.Wait(worker);
        return iterator->Next();
      });
  Job job(definitions, 3, 1, options_);
  auto per_worker = job.coordinator.CreatePerWorkerDataset(dataset);
  const auto iterator = per_worker.MakeIterator();
  job.AwaitWorkers();
  for (int i = 0; i < 3; ++i) job.coordinator.Schedule(use, iterator);
  job.coordinator.Join();
  {
    const std::lock_guard lock(mutex);
    EXPECT_THAT(made, ::testing::UnorderedElementsAre(0, 1, 2));
  }
  for (int i = 0; i < 30; ++i) job.coordinator.Schedule(use, iterator);
  job.coordinator.Join();
  const std::lock_guard lock(mutex);
  EXPECT_EQ(made.size(), 3u);
}

// Behaviour 19.
TEST_P(ResourceTest, WhatWorkersCountAddsUpToTheCalls) {
  std::mutex mutex;
  std::vector<std::shared_ptr<std::atomic<int>>> all;
  Definitions definitions;
  const auto counter =
      definitions.AddResource("counter", [&](const InputContext&) {
        auto made = std::make_shared<std::atomic<int>>(0);
        const std::lock_guard lock(mutex);
        all.push_back(made);
        return made;
      });
  const auto count = definitions.AddFunction(
      "count", [](PerWorker<std::atomic<int>> mine) { ++*mine; });
  Job job(definitions, 5, 2, options_);
  const auto mine = job.coordinator.CreatePerWorkerResource(counter);
  for (const int total : {10, 20}) {
    for (int i = 0; i < 10; ++i) job.coordinator.Schedule(count, mine);
    job.coordinator.Join();
    const std::lock_guard lock(mutex);
    int sum = 0;
    for (const auto& one : all) sum += *one;
    EXPECT_EQ(sum, total);
    EXPECT_LE(all.size(), 5u);
  }
}

TEST_P(ResourceTest, AResourceGoesWithItsLastHandle) {
  std::atomic<int> alive = 0;
  struct Table {
    explicit Table(std::atomic<int>& counted) : count(counted) { ++count; }
    ~Table() { --count; }
    std::atomic<int>& count;
  };
  Definitions definitions;
  const auto table = definitions.AddResource("table", [&](const InputContext&) {
    return std::make_shared<Table>(alive);
  });
  const auto use = definitions.AddFunction(
      "use", [](PerWorker<Table> mine) { return mine->count.load(); });
  const auto nothing = definitions.AddFunction("nothing", [] {});
  Job job(definitions, 2, 1, options_);
  {
    const auto handle = job.coordinator.CreatePerWorkerResource(table);
    EXPECT_GE(job.coordinator.Schedule(use, handle).Fetch(), 1);
  }
  while (alive > 0) std::this_thread::yield();
  job.coordinator.Schedule(nothing);
  job.coordinator.Join();
}

// Scheduled with a handle that is gone before they run.
TEST_P(ResourceTest, AScheduledFunctionKeepsItsResource) {
  Definitions definitions;
  Door end;
  const auto number =
      definitions.AddResource("number", [](const InputContext&) { return 7; });
  const auto block = definitions.AddFunction(
      "block", [&](WorkerContext& worker) { end.Wait(worker); });
  const auto use =
      definitions.AddFunction("use", [](PerWorker<int> mine) { return *mine; });
  Job job(definitions, 1, 1, options_);
  job.coordinator.Schedule(block);
  const RemoteValue<int> value = job.coordinator.Schedule(
      use, job.coordinator.CreatePerWorkerResource(number));
  end.Open();
  EXPECT_EQ(value.Fetch(), 7);
}

// Behaviour 30.
TEST_P(ResourceTest, AFailingResourceIsAnErrorOfThoseWhoUseIt) {
  Definitions definitions;
  const auto broken =
      definitions.AddResource("broken", [](const InputContext&) -> int {
        throw Error(ErrorCode::kDataLoss, "no such file");
      });
  std::atomic<int> ran = 0;
  const auto use = definitions.AddFunction("use", [&](PerWorker<int> mine) {
    ++ran;
    return *mine;
  });
  const auto add =
      definitions.AddFunction("add", [](WorkerContext& w) { AddTo(w, "n"); });
  Job job(definitions, 3, 2, options_);
  job.CreateCounter("n");
  const auto handle = job.coordinator.CreatePerWorkerResource(broken);
  for (int i = 0; i < 2; ++i) {
    const RemoteValue<int> value = job.coordinator.Schedule(use, handle);
    const auto is_input =
        IsError(ErrorCode::kDataLoss,
                AllOf(HasSubstr("an input of step"), HasSubstr("('use')"),
                      HasSubstr("'broken'"), HasSubstr("no such file")));
    const Error joined = ErrorOf([&] { job.coordinator.Join(); });
    EXPECT_THAT(joined, is_input);
    EXPECT_THAT(std::string(joined.task()), ::testing::StartsWith("worker/"));
    EXPECT_THAT(ErrorOf([&] { value.Fetch(); }), is_input);
  }
  EXPECT_EQ(ran, 0);
  for (int i = 0; i < 5; ++i) job.coordinator.Schedule(add);
  job.coordinator.Join();
  EXPECT_EQ(job.Count("n"), 5);
}

// Behaviour 31.
TEST_P(ResourceTest, AFailingResourceThatNobodyUsesIsNoError) {
  Definitions definitions;
  std::atomic<int> tried = 0;
  const auto broken =
      definitions.AddResource("broken", [&](const InputContext&) -> int {
        ++tried;
        throw std::runtime_error("no such file");
      });
  const auto add =
      definitions.AddFunction("add", [](WorkerContext& w) { AddTo(w, "n"); });
  Job job(definitions, 3, 2, options_);
  job.CreateCounter("n");
  const auto handle = job.coordinator.CreatePerWorkerResource(broken);
  while (tried < 3) std::this_thread::yield();
  job.coordinator.Join();
  for (int i = 0; i < 10; ++i) job.coordinator.Schedule(add);
  job.coordinator.Join();
  EXPECT_EQ(job.Count("n"), 10);
  EXPECT_TRUE(job.coordinator.Done());
}

TEST_P(ResourceTest, AResourceThatFailsOnOneWorkerHurtsThereOnly) {
  Definitions definitions;
  const auto picky =
      definitions.AddResource("picky", [](const InputContext& input) {
        if (input.input_pipeline_id == 1) {
          throw Error(ErrorCode::kUnavailable, "not on this one");
        }
        return input.input_pipeline_id;
      });
  const auto use =
      definitions.AddFunction("use", [](PerWorker<int> mine) { return *mine; });
  Job job(definitions, 2, 1, options_);
  const auto handle = job.coordinator.CreatePerWorkerResource(picky);
  job.AwaitWorkers();
  const Error error = ErrorOf([&] {
    while (true) job.coordinator.Schedule(use, handle);
  });
  EXPECT_THAT(error, IsError(ErrorCode::kUnavailable, HasSubstr("'picky'")));
  EXPECT_EQ(error.task(), "worker/1");
  // Alone it goes to the first.
  EXPECT_EQ(job.coordinator.Schedule(use, handle).Fetch(), 0);
}

// The end of a dataset is the program's to deal with, and says so.
TEST_P(ResourceTest, TheEndOfADatasetIsOutOfRange) {
  Definitions definitions;
  const auto numbers = definitions.AddDataset("numbers", UpTo(2));
  const auto next = definitions.AddFunction(
      "next", [](PerWorker<Iterator<std::int64_t>> it) { return it->Next(); });
  const auto try_next = definitions.AddFunction(
      "try_next",
      [](PerWorker<Iterator<std::int64_t>> it) { return it->TryNext(); });
  Job job(definitions, 1, 1, options_);
  const auto iterator =
      job.coordinator.CreatePerWorkerDataset(numbers).MakeIterator();
  EXPECT_EQ(job.coordinator.Schedule(next, iterator).Fetch(), 1);
  EXPECT_EQ(job.coordinator.Schedule(try_next, iterator).Fetch(), 2);
  EXPECT_EQ(job.coordinator.Schedule(try_next, iterator).Fetch(), std::nullopt);
  job.coordinator.Schedule(next, iterator);
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kOutOfRange, HasSubstr("2 elements")));
}

TEST_P(ResourceTest, SeveralResourcesAreTakenInTheOrderOfTheArguments) {
  Definitions definitions;
  const auto one =
      definitions.AddResource("one", [](const InputContext&) { return 1; });
  const auto two =
      definitions.AddResource("two", [](const InputContext&) { return 2; });
  const auto use = definitions.AddFunction(
      "use",
      [](PerWorker<int> a, int by, PerWorker<int> b) { return *a * by + *b; });
  Job job(definitions, 2, 1, options_);
  const auto first = job.coordinator.CreatePerWorkerResource(one);
  const auto second = job.coordinator.CreatePerWorkerResource(two);
  EXPECT_EQ(job.coordinator.Schedule(use, first, 10, second).Fetch(), 12);
  EXPECT_EQ(job.coordinator.Schedule(use, second, 10, first).Fetch(), 21);
}

TEST(PerWorkerTest, IsOfNoUseOnTheCoordinator) {
  Definitions definitions;
  const auto number =
      definitions.AddResource("number", [](const InputContext&) { return 7; });
  Job job(definitions, 1, 1);
  const PerWorker<int> handle = job.coordinator.CreatePerWorkerResource(number);
  EXPECT_THAT(ErrorOf([&] { *handle; }),
              IsError(ErrorCode::kFailedPrecondition, HasSubstr("Schedule")));
}

TEST(PerWorkerTest, MayOutliveTheCluster) {
  Definitions definitions;
  const auto number =
      definitions.AddResource("number", [](const InputContext&) { return 7; });
  std::optional<PerWorker<int>> handle;
  {
    Job job(definitions, 1, 1);
    handle = job.coordinator.CreatePerWorkerResource(number);
  }
  handle.reset();
}

TEST(PerWorkerTest, TheContextOfSynchronousTrainingSaysHowManyReplicas) {
  std::promise<InputContext> seen;
  Definitions definitions;
  const auto number =
      definitions.AddResource("number", [&](const InputContext& input) {
        seen.set_value(input);
        return 7;
      });
  Job job(definitions, 1, 1);
  job.coordinator.CreateVariables({{.name = "w",
                                    .shape = {1},
                                    .optimizer = Sgd{},
                                    .update = Sync{.replicas = 4}}});
  const auto handle = job.coordinator.CreatePerWorkerResource(number);
  const InputContext input = seen.get_future().get();
  EXPECT_EQ(input.num_replicas_in_sync, 4);
  EXPECT_EQ(input.PerReplicaBatchSize(64), 16);
}

TEST_P(ResourceTest, ADatasetIsReadInOrderAndByNumber) {
  Definitions definitions;
  const DatasetHandle numbers =
      definitions.AddDataset("numbers", [](const InputContext& input) {
        return Dataset::Range(0, 10).Shard(input);
      });
  const auto next = definitions.AddFunction(
      "next", [](PerWorker<Iterator<Example>> it) { return it->Next(); });
  const auto at = definitions.AddFunction(
      "at", [](PerWorker<LazyTable> table, std::int64_t index) {
        return table->Get().At(index);
      });
  Job job(definitions, 1, 1, options_);
  const auto iterator =
      job.coordinator.CreatePerWorkerDataset(numbers).MakeIterator();
  const auto table = job.coordinator.CreatePerWorkerResource(numbers.table());
  EXPECT_EQ(numbers.table().name(), "numbers/table");
  for (std::int64_t i = 0; i < 3; ++i) {
    const Example expected{{"value", Tensor::Scalar(i)}};
    EXPECT_EQ(job.coordinator.Schedule(next, iterator).Fetch(), expected);
    EXPECT_EQ(job.coordinator.Schedule(at, table, i).Fetch(), expected);
  }
}

// What cannot be read by number is an error of those who try, not of others.
TEST_P(ResourceTest, ADatasetWithoutNumbersCanStillBeReadInOrder) {
  Definitions definitions;
  const DatasetHandle numbers = definitions.AddDataset(
      "numbers",
      [](const InputContext&) { return Dataset::Range(0, 10).Repeat(); });
  const auto next = definitions.AddFunction(
      "next", [](PerWorker<Iterator<Example>> it) { return it->Next(); });
  const auto size = definitions.AddFunction(
      "size", [](PerWorker<LazyTable> table) { return table->Get().size(); });
  Job job(definitions, 1, 1, options_);
  const auto table = job.coordinator.CreatePerWorkerResource(numbers.table());
  const auto iterator =
      job.coordinator.CreatePerWorkerDataset(numbers).MakeIterator();
  EXPECT_EQ(job.coordinator.Schedule(next, iterator).Fetch(),
            (Example{{"value", Tensor::Scalar(std::int64_t{0})}}));
  EXPECT_THAT(
      ErrorOf([&] { job.coordinator.Schedule(size, table).Fetch(); }),
      IsError(ErrorCode::kFailedPrecondition,
              HasSubstr("Repeat without a count cannot be read by number")));
}

}  // namespace
}  // namespace capstan
