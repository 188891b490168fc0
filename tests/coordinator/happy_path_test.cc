// What a program does when nothing goes wrong.
#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "coordinator/helpers.h"

namespace capstan {
namespace {

using testing::AddTo;
using testing::Door;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;
using ::testing::Pair;

// Whether a call of Schedule compiles.
template <typename F, typename... Args>
concept CanSchedule = requires(ClusterCoordinator& coordinator,
                               const F& function, Args&&... args) {
  coordinator.Schedule(function, std::forward<Args>(args)...);
};

// Behaviour 20: what cannot work does not compile.
using Plain = decltype([](int value) { return value; });
static_assert(CanSchedule<Function<int, int>, int>);
static_assert(CanSchedule<Function<int, int>, short>);
static_assert(!CanSchedule<Function<int, int>, RemoteValue<int>>);
static_assert(!CanSchedule<Function<int, int>, const RemoteValue<int>&>);
static_assert(!CanSchedule<Function<int, int>, std::string>);
static_assert(!CanSchedule<Function<int, int>>);
static_assert(!CanSchedule<Function<int, int>, int, int>);
static_assert(!CanSchedule<Plain, int>);
static_assert(!CanSchedule<int (*)(int), int>);
static_assert(CanSchedule<Function<void, DataRange>, DataRange>);
static_assert(CanSchedule<Function<void, DataRange>, DataTicket>);
static_assert(!CanSchedule<Function<void, DataRange>, DataTicket&>);
static_assert(!Transferable<RemoteValue<int>>);
static_assert(!Transferable<int*>);

class HappyPathTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  const CoordinatorOptions options_ = testing::WithCapacity(GetParam());
};

TEST_P(HappyPathTest, JoinWithNothingScheduledReturnsAtOnce) {
  Job job(Definitions(), 2, 1, options_);
  for (int i = 0; i < 3; ++i) job.coordinator.Join();
  EXPECT_TRUE(job.coordinator.Done());
}

TEST_P(HappyPathTest, EveryIncrementCountsOnce) {
  Definitions definitions;
  const auto add = definitions.AddFunction(
      "add", [](WorkerContext& worker) { AddTo(worker, "n"); });
  Job job(definitions, 5, 2, options_);
  job.CreateCounter("n");
  for (const int total : {10, 20}) {
    for (int i = 0; i < 5; ++i) job.coordinator.Schedule(add);
    for (int i = 0; i < 5; ++i) job.coordinator.Schedule(add);
    job.coordinator.Join();
    EXPECT_EQ(job.Count("n"), total);
    EXPECT_TRUE(job.coordinator.Done());
  }
  for (int i = 0; i < 3; ++i) job.coordinator.Join();
  EXPECT_EQ(job.Count("n"), 20);
  EXPECT_TRUE(job.coordinator.Done());
}

using Nested = std::tuple<std::vector<std::int64_t>,
                          std::map<std::string, std::pair<double, bool>>,
                          std::optional<std::tuple<std::string>>>;

Nested MakeNested(std::int64_t base) {
  return {{base, base + 1},
          {{"a", {0.5, true}}, {"b", {-0.25, false}}},
          std::tuple<std::string>("inner")};
}

TEST_P(HappyPathTest, NestedResultsKeepTheirStructure) {
  Definitions definitions;
  const auto make = definitions.AddFunction("make", MakeNested);
  Job job(definitions, 5, 2, options_);
  const RemoteValue<Nested> value = job.coordinator.Schedule(make, 7);
  EXPECT_EQ(value.Fetch(), MakeNested(7));
  EXPECT_EQ(value.Fetch(), MakeNested(7)) << "the second time";
  EXPECT_EQ(job.coordinator.Fetch(value), MakeNested(7));
  job.coordinator.Join();
}

TEST_P(HappyPathTest, FetchGoesThroughAStructureOfRemoteValues) {
  Definitions definitions;
  const auto square = definitions.AddFunction(
      "square", [](int value) { return value * value; });
  const auto name =
      definitions.AddFunction("name", [](int v) { return std::to_string(v); });
  Job job(definitions, 5, 2, options_);
  ClusterCoordinator& coordinator = job.coordinator;

  std::vector<RemoteValue<int>> list;
  for (int i = 0; i < 5; ++i) list.push_back(coordinator.Schedule(square, i));
  EXPECT_THAT(coordinator.Fetch(list), ElementsAre(0, 1, 4, 9, 16));

  std::map<std::string, RemoteValue<int>> map;
  map.emplace("three", coordinator.Schedule(square, 3));
  map.emplace("four", coordinator.Schedule(square, 4));
  EXPECT_THAT(coordinator.Fetch(map),
              ElementsAre(Pair("four", 16), Pair("three", 9)));

  const auto tuple =
      std::make_tuple(coordinator.Schedule(square, 5), std::string("as it is"),
                      std::make_pair(coordinator.Schedule(name, 6), 2.5), list);
  const auto fetched = coordinator.Fetch(tuple);
  static_assert(std::is_same_v<
                std::remove_const_t<decltype(fetched)>,
                std::tuple<int, std::string, std::pair<std::string, double>,
                           std::vector<int>>>);
  EXPECT_EQ(std::get<0>(fetched), 25);
  EXPECT_EQ(std::get<1>(fetched), "as it is");
  EXPECT_EQ(std::get<2>(fetched), std::make_pair(std::string("6"), 2.5));
  EXPECT_THAT(std::get<3>(fetched), ElementsAre(0, 1, 4, 9, 16));
}

TEST_P(HappyPathTest, FetchOfAStructureHasOneTimeoutForAll) {
  Definitions definitions;
  Door end;
  const auto slow =
      definitions.AddFunction("slow", [&](WorkerContext& worker, int value) {
        if (value > 0) end.Wait(worker);
        return value;
      });
  Job job(definitions, 1, 1, options_);
  using Maybe = std::optional<RemoteValue<int>>;
  const std::vector<Maybe> values = {job.coordinator.Schedule(slow, 0), Maybe(),
                                     job.coordinator.Schedule(slow, 2)};
  EXPECT_THAT(
      ErrorOf(
          [&] { job.coordinator.Fetch(values, std::chrono::milliseconds(1)); }),
      IsError(ErrorCode::kDeadlineExceeded, HasSubstr("within 0.001 s")));
  end.Open();
  const std::vector<std::optional<int>> fetched =
      job.coordinator.Fetch(values, std::chrono::minutes(1));
  EXPECT_THAT(fetched, ElementsAre(0, std::nullopt, 2));
}

TEST_P(HappyPathTest, AFailureInAStructureIsThrownByItsFetch) {
  Definitions definitions;
  const auto odd = definitions.AddFunction("odd", [](int value) {
    if (value % 2 == 0) throw Error(ErrorCode::kOutOfRange, "even");
    return value;
  });
  Job job(definitions, 2, 1, options_);
  std::vector<RemoteValue<int>> list = {job.coordinator.Schedule(odd, 1)};
  list.front().Fetch();
  list.push_back(job.coordinator.Schedule(odd, 2));
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Fetch(list); }),
              IsError(ErrorCode::kOutOfRange, HasSubstr("even")));
  EXPECT_EQ(list.front().Fetch(), 1);
  EXPECT_THROW(job.coordinator.Join(), Error);
}

TEST_P(HappyPathTest, ASecondCoordinatorIsTheSameOne) {
  Definitions definitions;
  Door door;
  const auto wait = definitions.AddFunction("wait", [&](WorkerContext& worker) {
    door.Wait(worker);
    AddTo(worker, "n");
    return 1;
  });
  Job job(definitions, 1, 1, options_);
  ClusterCoordinator second(job.local.cluster());
  second.CreateVariables({{.name = "n", .shape = {}, .dtype = DType::kI64}});
  const RemoteValue<int> value = job.coordinator.Schedule(wait);
  EXPECT_FALSE(second.Done());
  EXPECT_FALSE(value.Ready());
  door.Open();
  second.Join();
  EXPECT_TRUE(value.Ready());
  EXPECT_TRUE(job.coordinator.Done());
  EXPECT_EQ(job.Count("n"), 1);
  EXPECT_EQ(second.Status().finished, 1u);
  EXPECT_EQ(job.coordinator.Status().finished, 1u);
}

// Behaviour 35.
TEST_P(HappyPathTest, OneFunctionUpdatesTwoVariables) {
  Definitions definitions;
  const auto train = definitions.AddFunction("train", [](WorkerContext& worker,
                                                         float by) {
    worker.Apply(Operation::kAdd, {{"w", Tensor::FromValues({2}, {by, 2 * by})},
                                   {"b", Tensor::Scalar(by)}});
    AddTo(worker, "steps");
  });
  Job job(definitions, 1, 1, options_);
  job.coordinator.CreateVariables(
      {{.name = "w", .shape = {2}},
       {.name = "b", .shape = {}, .initializer = Constant{10}}});
  job.CreateCounter("steps");
  job.coordinator.Schedule(train, 1.0f);
  job.coordinator.Schedule(train, 2.0f);
  job.coordinator.Join();
  EXPECT_THAT(job.Floats("w"), ElementsAre(3, 6));
  EXPECT_THAT(job.Floats("b"), ElementsAre(13));
  EXPECT_EQ(job.Count("steps"), 2);
}

TEST_P(HappyPathTest, VariablesMayBeMadeWhileFunctionsRun) {
  Definitions definitions;
  Door made;
  std::promise<void> started;
  const auto use = definitions.AddFunction("use", [&](WorkerContext& worker) {
    AddTo(worker, "old");
    started.set_value();
    made.Wait(worker);
    AddTo(worker, "new");
    return worker.Read("new").Values<std::int64_t>()[0];
  });
  Job job(definitions, 2, 2, options_);
  job.CreateCounter("old");
  const RemoteValue<std::int64_t> value = job.coordinator.Schedule(use);
  started.get_future().wait();
  job.CreateCounter("new");
  EXPECT_EQ(job.Count("new"), 0);
  made.Open();
  job.coordinator.Join();
  EXPECT_EQ(value.Fetch(), 1);
  EXPECT_EQ(job.Count("old"), 1);
  EXPECT_EQ(job.Count("new"), 1);
}

TEST_P(HappyPathTest, DroppedVariablesAreGoneAndTheirNamesFree) {
  Definitions definitions;
  const auto add = definitions.AddFunction(
      "add", [](WorkerContext& worker) { AddTo(worker, "n"); });
  Job job(definitions, 2, 2, options_);
  job.CreateCounter("n");
  job.coordinator.Schedule(add);
  job.coordinator.Join();
  job.coordinator.DropVariables({"n"});
  EXPECT_THAT(ErrorOf([&] { job.Count("n"); }),
              IsError(ErrorCode::kNotFound, HasSubstr("'n'")));
  job.CreateCounter("n");
  EXPECT_EQ(job.Count("n"), 0);
  for (int i = 0; i < 4; ++i) job.coordinator.Schedule(add);
  job.coordinator.Join();
  EXPECT_EQ(job.Count("n"), 4);
}

TEST_P(HappyPathTest, TheCoordinatorReadsAndWritesVariablesItself) {
  Definitions definitions;
  const auto sum = definitions.AddFunction("sum", [](WorkerContext& worker) {
    float total = 0;
    const Tensor table = worker.Read("table");
    for (const float v : table.Values<float>()) total += v;
    return total;
  });
  Job job(definitions, 2, 2, options_);
  ClusterCoordinator& coordinator = job.coordinator;
  coordinator.CreateVariables({{.name = "table", .shape = {4, 2}}},
                              FixedShards(2));
  const Tensor value =
      Tensor::FromValues({4, 2}, {0.f, 1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f});
  EXPECT_EQ(coordinator.Assign("table", value).applied, 2u);
  EXPECT_EQ(coordinator.Read("table"), value);
  const std::vector<std::int64_t> ids = {3, 0, 3};
  EXPECT_EQ(coordinator.ReadRows("table", ids),
            Tensor::FromValues({3, 2}, {6.f, 7.f, 0.f, 1.f, 6.f, 7.f}));
  // In no time nothing is read; and the servers are named.
  const auto late = IsError(ErrorCode::kDeadlineExceeded, HasSubstr("ps/"));
  const std::chrono::nanoseconds no_time(1);
  EXPECT_THAT(ErrorOf([&] { coordinator.Read("table", no_time); }), late);
  EXPECT_THAT(ErrorOf([&] { coordinator.ReadAll({"table"}, no_time); }), late);
  EXPECT_THAT(ErrorOf([&] { coordinator.ReadRows("table", ids, no_time); }),
              late);
  EXPECT_EQ(coordinator.Read("table", std::chrono::minutes(1)), value);
  coordinator.Apply(Operation::kAdd,
                    {{"table", Tensor::FromValues({1, 2}, {10.f, 20.f}),
                      Tensor::FromValues({1}, {std::int64_t{1}})}});
  EXPECT_EQ(coordinator.Schedule(sum).Fetch(), 58.f);
}

TEST_P(HappyPathTest, FunctionsRunThoughNobodyWantsTheirResults) {
  Definitions definitions;
  const auto make = definitions.AddFunction("make", [](WorkerContext& worker) {
    AddTo(worker, "n");
    return std::string(1000, 'x');
  });
  Job job(definitions, 3, 1, options_);
  job.CreateCounter("n");
  for (int i = 0; i < 50; ++i) job.coordinator.Schedule(make);
  job.coordinator.Join();
  EXPECT_EQ(job.Count("n"), 50);
}

INSTANTIATE_TEST_SUITE_P(, HappyPathTest,
                         ::testing::Values(testing::kWide, testing::kNarrow),
                         testing::CapacityName);

TEST(ThenTest, IsCalledWhenTheValueIsReady) {
  Definitions definitions;
  Door door;
  const auto wait = definitions.AddFunction("wait", [&](WorkerContext& worker) {
    door.Wait(worker);
    return 42;
  });
  Job job(definitions, 1, 1);
  std::promise<std::pair<int, bool>> called;
  const std::thread::id here = std::this_thread::get_id();
  const RemoteValue<int> value = job.coordinator.Schedule(wait);
  value.Then([&](const RemoteValue<int>& ready) {
    EXPECT_TRUE(ready.Ready());
    called.set_value({ready.Fetch(), std::this_thread::get_id() != here});
  });
  EXPECT_FALSE(value.Ready());
  door.Open();
  EXPECT_EQ(called.get_future().get(), std::make_pair(42, true));
}

TEST(ThenTest, IsCalledAtOnceIfTheValueIsThere) {
  Definitions definitions;
  const auto make = definitions.AddFunction("make", [] { return 7; });
  Job job(definitions, 1, 1);
  const RemoteValue<int> value = job.coordinator.Schedule(make);
  EXPECT_EQ(value.Fetch(), 7);
  for (int i = 0; i < 3; ++i) {
    std::promise<int> called;
    value.Then([&](const RemoteValue<int>& v) { called.set_value(v.Fetch()); });
    EXPECT_EQ(called.get_future().get(), 7);
  }
}

TEST(ThenTest, KeepsTheValueThoughTheCallerDropsIt) {
  Definitions definitions;
  const auto make = definitions.AddFunction("make", [] { return 7; });
  Job job(definitions, 1, 1);
  std::promise<int> called;
  job.coordinator.Schedule(make).Then(
      [&](const RemoteValue<int>& v) { called.set_value(v.Fetch()); });
  EXPECT_EQ(called.get_future().get(), 7);
}

TEST(ThenTest, IsCalledForFailuresToo) {
  Definitions definitions;
  const auto fail = definitions.AddFunction(
      "fail", []() -> int { throw Error(ErrorCode::kDataLoss, "lost it"); });
  Job job(definitions, 1, 1);
  std::promise<std::string> called;
  job.coordinator.Schedule(fail).Then([&](const RemoteValue<int>& v) {
    called.set_value(ErrorOf([&] { v.Fetch(); }).what());
  });
  EXPECT_THAT(called.get_future().get(), HasSubstr("lost it"));
  EXPECT_THROW(job.coordinator.Join(), Error);
}

// A callback may schedule: that is how one keeps a queue full.
TEST(ThenTest, MaySchedule) {
  Definitions definitions;
  const auto add = definitions.AddFunction(
      "add", [](WorkerContext& worker) { AddTo(worker, "n"); });
  Job job(definitions, 2, 1);
  job.CreateCounter("n");
  std::promise<void> last;
  std::function<void(int)> go = [&](int left) {
    job.coordinator.Schedule(add).Then([&, left](const RemoteValue<void>&) {
      if (left == 0) {
        last.set_value();
      } else {
        go(left - 1);
      }
    });
  };
  go(9);
  last.get_future().wait();
  job.coordinator.Join();
  EXPECT_EQ(job.Count("n"), 10);
}

TEST(WorkerContextTest, SaysWhereAndWhatItRuns) {
  struct Seen {
    std::string task;
    int index;
    std::uint64_t step;
    int threads;
    bool cancelled;
  };
  std::mutex mutex;
  std::vector<Seen> seen;
  Definitions definitions;
  const auto look = definitions.AddFunction("look", [&](WorkerContext& worker) {
    worker.ThrowIfCancelled();
    worker.SleepFor(std::chrono::nanoseconds(1));
    const std::lock_guard lock(mutex);
    seen.push_back({worker.task(), worker.worker_index(), worker.step(),
                    worker.compute_threads(), worker.Cancelled()});
  });
  Job job(definitions, 3, 1);
  for (int i = 0; i < 30; ++i) job.coordinator.Schedule(look);
  job.coordinator.Join();
  std::set<std::uint64_t> steps;
  for (const Seen& one : seen) {
    EXPECT_GE(one.index, 0);
    EXPECT_LT(one.index, 3);
    EXPECT_EQ(one.task, "worker/" + std::to_string(one.index));
    EXPECT_GE(one.threads, 1);
    EXPECT_FALSE(one.cancelled);
    steps.insert(one.step);
  }
  EXPECT_EQ(steps.size(), 30u);
  EXPECT_EQ(*steps.begin(), 1u);
  EXPECT_EQ(*steps.rbegin(), 30u);
}

// Each waits until all three have come, so no worker can run two of them.
TEST(WorkerContextTest, AllWorkersRunFunctionsAtOnce) {
  std::atomic<int> arrived = 0;
  Door all;
  Definitions definitions;
  const auto meet = definitions.AddFunction("meet", [&](WorkerContext& worker) {
    if (++arrived == 3) all.Open();
    all.Wait(worker);
    return worker.worker_index();
  });
  Job job(definitions, 3, 1);
  std::vector<RemoteValue<int>> values;
  for (int i = 0; i < 3; ++i) values.push_back(job.coordinator.Schedule(meet));
  const std::vector<int> indices = job.coordinator.Fetch(values);
  EXPECT_THAT(indices, ::testing::UnorderedElementsAre(0, 1, 2));
}

TEST(WorkerContextTest, ReadsSeveralVariablesAndRows) {
  Definitions definitions;
  const auto read = definitions.AddFunction("read", [](WorkerContext& worker) {
    std::vector<Tensor> all = worker.ReadAll({"a", "b"});
    const std::vector<std::int64_t> ids = {2, 2, 0};
    all.push_back(worker.ReadRows("b", ids));
    return all;
  });
  Job job(definitions, 1, 2);
  job.coordinator.CreateVariables(
      {{.name = "a", .shape = {2}, .initializer = Ones{}},
       {.name = "b", .shape = {3, 1}}});
  const Tensor b = Tensor::FromValues({3, 1}, {1.f, 2.f, 3.f});
  job.coordinator.Assign("b", b);
  EXPECT_THAT(job.coordinator.Schedule(read).Fetch(),
              ElementsAre(Tensor::FromValues({2}, {1.f, 1.f}), b,
                          Tensor::FromValues({3, 1}, {3.f, 3.f, 1.f})));
}

TEST(AfterTheEndTest, ARemoteValueStillFetches) {
  Definitions definitions;
  const auto make = definitions.AddFunction("make", [] {
    return Tensor::FromValues({3}, {1.f, 2.f, 3.f});
  });
  std::optional<RemoteValue<Tensor>> fetched;
  std::optional<RemoteValue<Tensor>> not_fetched;
  {
    Job job(definitions, 1, 1);
    fetched = job.coordinator.Schedule(make);
    not_fetched = job.coordinator.Schedule(make);
    fetched->Fetch();
    job.coordinator.Join();
  }
  const Tensor expected = Tensor::FromValues({3}, {1.f, 2.f, 3.f});
  EXPECT_EQ(fetched->Fetch(), expected);
  EXPECT_EQ(not_fetched->Fetch(), expected);
  not_fetched->Cancel();
  EXPECT_EQ(not_fetched->Fetch(), expected);
  bool called = false;
  not_fetched->Then([&](const RemoteValue<Tensor>&) { called = true; });
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace capstan
