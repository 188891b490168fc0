// What a program is told when a function fails, and that it can go on.
#include <atomic>
#include <future>
#include <new>
#include <stdexcept>
#include <thread>

#include "coordinator/helpers.h"

namespace capstan {
namespace {

using testing::AddTo;
using ::testing::AllOf;
using testing::Door;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;
using ::testing::SizeIs;

class ErrorTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  // A cluster with 'add', which counts, and 'fail', which throws kDataLoss.
  ErrorTest()
      : add_(definitions_.AddFunction(
            "add", [](WorkerContext& worker) { AddTo(worker, "n"); })),
        fail_(definitions_.AddFunction(
            "fail",
            [](int number) -> int {
              throw Error(ErrorCode::kDataLoss,
                          "failure " + std::to_string(number));
            })),
        job_(definitions_, 3, 2, testing::WithCapacity(GetParam())) {
    job_.CreateCounter("n");
  }

  // That nothing is left of an error.
  void ExpectClean() {
    ClusterCoordinator& coordinator = job_.coordinator;
    coordinator.Join();
    EXPECT_TRUE(coordinator.Done());
    const std::int64_t before = job_.Count("n");
    for (int i = 0; i < 10; ++i) coordinator.Schedule(add_);
    coordinator.Join();
    EXPECT_EQ(job_.Count("n"), before + 10);
  }

  Definitions definitions_;
  const Function<void> add_;
  const Function<int, int> fail_;
  Job job_;
};

INSTANTIATE_TEST_SUITE_P(, ErrorTest,
                         ::testing::Values(testing::kWide, testing::kNarrow),
                         testing::CapacityName);

// Behaviour 25.
TEST_P(ErrorTest, JoinThrowsWhatOneOfManyFunctionsThrew) {
  const RemoteValue<int> failed = job_.coordinator.Schedule(fail_, 7);
  // With a narrow queue the error may come before all are scheduled.
  const Error error = ErrorOf([&] {
    for (int i = 0; i < 5; ++i) job_.coordinator.Schedule(add_);
    job_.coordinator.Join();
  });
  EXPECT_THAT(error, IsError(ErrorCode::kDataLoss,
                             AllOf(HasSubstr("failure 7"), HasSubstr("'fail'"),
                                   HasSubstr("step "))));
  EXPECT_THAT(std::string(error.task()), ::testing::StartsWith("worker/"));
  EXPECT_LE(job_.Count("n"), 5);
  ExpectClean();
}

// Behaviours 5 and 26.
TEST_P(ErrorTest, ScheduleThrowsItToOneWhoKeepsScheduling) {
  job_.coordinator.Schedule(fail_, 1);
  EXPECT_THAT(ErrorOf([&] {
                while (true) job_.coordinator.Schedule(add_);
              }),
              IsError(ErrorCode::kDataLoss, HasSubstr("failure 1")));
  ExpectClean();
}

// Behaviour 7.
TEST_P(ErrorTest, DoneThrowsIt) {
  const RemoteValue<int> value = job_.coordinator.Schedule(fail_, 1);
  EXPECT_THROW(value.Fetch(), Error);
  EXPECT_THAT(ErrorOf([&] { job_.coordinator.Done(); }),
              IsError(ErrorCode::kDataLoss, HasSubstr("failure 1")));
  ExpectClean();
}

// Behaviour 27.
TEST_P(ErrorTest, SeveralFailuresAreThrownOnceAndAllListed) {
  constexpr int kFailures = 3;
  // All three run at once, each on its worker, and fail by themselves: the
  // first for its own reasons, and the others once they have been told to end.
  Definitions definitions;
  std::atomic<int> arrived = 0;
  Door all;
  const auto fail =
      definitions.AddFunction("fail", [&](WorkerContext& worker, int number) {
        if (++arrived == kFailures) all.Open();
        all.Wait();
        while (number > 0 && !worker.Cancelled()) std::this_thread::yield();
        throw Error(ErrorCode::kDataLoss, "failure " + std::to_string(number));
      });
  Job job(definitions, kFailures, 1, testing::WithCapacity(GetParam()));
  std::vector<RemoteValue<void>> values;
  for (int i = 0; i < kFailures; ++i) {
    values.push_back(job.coordinator.Schedule(fail, i));
  }
  EXPECT_THAT(
      ErrorOf([&] { job.coordinator.Join(); }),
      IsError(ErrorCode::kDataLoss,
              AllOf(HasSubstr("failure 0"), HasSubstr("(and 2 more errors)"))));
  for (int i = 0; i < kFailures; ++i) {
    EXPECT_THAT(ErrorOf([&] { values[static_cast<size_t>(i)].Fetch(); }),
                IsError(ErrorCode::kDataLoss,
                        HasSubstr("failure " + std::to_string(i))));
  }
  EXPECT_THAT(job.coordinator.LastErrors(), SizeIs(kFailures));
  job.coordinator.Join();
  EXPECT_TRUE(job.coordinator.Done());
  EXPECT_THAT(job.coordinator.LastErrors(), SizeIs(kFailures)) << "still known";
}

// A program that neither schedules nor joins has not been told, and what it has
// scheduled runs.
TEST_P(ErrorTest, AFailureLeavesTheOthersAloneUntilSomebodyCalls) {
  Definitions definitions;
  Door scheduled;
  Door failed;
  const auto run = definitions.AddFunction("run", [&](WorkerContext& worker) {
    failed.Wait(worker);
    return worker.Cancelled();
  });
  const auto fail = definitions.AddFunction("fail", [&](WorkerContext& worker) {
    scheduled.Wait(worker);
    throw Error(ErrorCode::kDataLoss, "failure");
  });
  Job job(definitions, 2, 1, testing::WithCapacity(GetParam()));
  const RemoteValue<bool> running = job.coordinator.Schedule(run);
  const RemoteValue<void> failing = job.coordinator.Schedule(fail);
  const RemoteValue<bool> queued = job.coordinator.Schedule(run);
  scheduled.Open();
  EXPECT_THAT(ErrorOf([&] { failing.Fetch(); }), IsError(ErrorCode::kDataLoss));
  failed.Open();
  EXPECT_FALSE(running.Fetch());
  EXPECT_FALSE(queued.Fetch());
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kDataLoss));
}

TEST_P(ErrorTest, ScheduleThrowsOnceForManyFailures) {
  int thrown = 0;
  for (int i = 0; i < 3; ++i) {
    try {
      job_.coordinator.Schedule(fail_, i);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
      ++thrown;
    }
  }
  try {
    job_.coordinator.Join();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    ++thrown;
  }
  EXPECT_GE(thrown, 1);
  EXPECT_LE(thrown, 3);
  ExpectClean();
}

// Behaviours 6, 9 and 28.
TEST_P(ErrorTest, AnErrorIsClearedOnceItWasThrownAndAnotherIsThrownAgain) {
  for (int i = 0; i < 5; ++i) {
    const RemoteValue<int> value = job_.coordinator.Schedule(fail_, i);
    EXPECT_THAT(ErrorOf([&] { job_.coordinator.Join(); }),
                IsError(ErrorCode::kDataLoss,
                        HasSubstr("failure " + std::to_string(i))));
    EXPECT_THAT(job_.coordinator.LastErrors(), SizeIs(1));
    EXPECT_TRUE(job_.coordinator.Done());
    job_.coordinator.Join();
  }
  ExpectClean();
}

// Behaviour 29.
TEST_P(ErrorTest, FetchOfTheFunctionThrowsItsOwnError) {
  const RemoteValue<int> value = job_.coordinator.Schedule(fail_, 3);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(ErrorOf([&] { value.Fetch(); }),
                IsError(ErrorCode::kDataLoss, HasSubstr("failure 3")));
  }
  EXPECT_TRUE(value.Ready());
  EXPECT_THROW(job_.coordinator.Join(), Error);
  EXPECT_THAT(ErrorOf([&] { value.Fetch(); }),
              IsError(ErrorCode::kDataLoss, HasSubstr("failure 3")));
  ExpectClean();
}

// What was queued behind the failure is cancelled and says so, not lost.
TEST_P(ErrorTest, EveryFunctionEndsByItselfOrIsCancelled) {
  std::vector<RemoteValue<void>> values;
  EXPECT_THROW(
      {
        for (int i = 0; i < 20; ++i) {
          values.push_back(job_.coordinator.Schedule(add_));
          if (i == 10) job_.coordinator.Schedule(fail_, 0);
        }
        job_.coordinator.Join();
      },
      Error);
  std::int64_t ran = 0;
  for (const RemoteValue<void>& value : values) {
    ASSERT_TRUE(value.Ready());
    try {
      value.Fetch();
      ++ran;
    } catch (const Error& error) {
      EXPECT_THAT(error, IsError(ErrorCode::kCancelled,
                                 HasSubstr("schedule it again")));
    }
  }
  // A cancelled one may have added; one that ended has, once.
  EXPECT_GE(job_.Count("n"), ran);
  EXPECT_LE(job_.Count("n"), static_cast<std::int64_t>(values.size()));
  ExpectClean();
}

TEST_P(ErrorTest, AFailureOfOneVariableIsTheFunctionsError) {
  EXPECT_THAT(ErrorOf([&] { job_.Count("absent"); }),
              IsError(ErrorCode::kNotFound, HasSubstr("'absent'")));
  job_.coordinator.DropVariables({"n"});
  const RemoteValue<void> value = job_.coordinator.Schedule(add_);
  EXPECT_THAT(ErrorOf([&] { value.Fetch(); }),
              IsError(ErrorCode::kNotFound, HasSubstr("'n'")));
  EXPECT_THAT(ErrorOf([&] { job_.coordinator.Join(); }),
              IsError(ErrorCode::kNotFound, HasSubstr("'n'")));
  job_.CreateCounter("n");
  ExpectClean();
}

// --- What functions throw.

// What Fetch and Join say of a function that throws by `thrower`.
Error ErrorThrownBy(const std::function<void()>& thrower) {
  Definitions definitions;
  const auto fail = definitions.AddFunction("fail", [&] { thrower(); });
  Job job(definitions, 1, 1);
  const RemoteValue<void> value = job.coordinator.Schedule(fail);
  const Error own = ErrorOf([&] { value.Fetch(); });
  const Error joined = ErrorOf([&] { job.coordinator.Join(); });
  EXPECT_STREQ(own.what(), joined.what());
  EXPECT_EQ(own.code(), joined.code());
  job.coordinator.Join();
  return own;
}

TEST(ExceptionTest, AnErrorKeepsItsCodeAndMessage) {
  for (int code = 2; code <= 16; ++code) {
    const auto expected = static_cast<ErrorCode>(code);
    const Error error = ErrorThrownBy([&] { throw Error(expected, "why"); });
    EXPECT_EQ(error.code(), expected);
    EXPECT_THAT(std::string(error.message()),
                AllOf(HasSubstr("why"), HasSubstr("step 1 ('fail')"),
                      HasSubstr("worker/0")));
    EXPECT_EQ(error.task(), "worker/0");
  }
}

TEST(ExceptionTest, AnErrorKeepsItsTask) {
  const Error error = ErrorThrownBy(
      [] { throw Error(ErrorCode::kOutOfRange, "row 9", "ps/7"); });
  EXPECT_EQ(error.code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(error.task(), "ps/7");
  EXPECT_THAT(error.what(), HasSubstr("row 9"));
}

TEST(ExceptionTest, AStandardExceptionIsUnknownWithItsText) {
  const Error error =
      ErrorThrownBy([] { throw std::runtime_error("out of ideas"); });
  EXPECT_THAT(error, IsError(ErrorCode::kUnknown, HasSubstr("out of ideas")));
}

TEST(ExceptionTest, WantOfMemoryIsResourceExhausted) {
  const Error error = ErrorThrownBy([] { throw std::bad_alloc(); });
  EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
}

TEST(ExceptionTest, AnythingElseIsUnknown) {
  EXPECT_EQ(ErrorThrownBy([] { throw 5; }).code(), ErrorCode::kUnknown);
  EXPECT_EQ(ErrorThrownBy([] { throw "text"; }).code(), ErrorCode::kUnknown);
}

// One that cancels itself has failed: nobody has asked for it.
TEST(ExceptionTest, ThrowingCancelledUnaskedIsAFailure) {
  std::atomic<int> runs = 0;
  const Error error = ErrorThrownBy([&] {
    ++runs;
    throw Error(ErrorCode::kCancelled, "I do not feel like it");
  });
  EXPECT_THAT(error, IsError(ErrorCode::kCancelled, HasSubstr("feel like")));
  EXPECT_EQ(runs, 1);
}

// It is tried on others, as a server may be reachable from there.
TEST(ExceptionTest, AServerThatCannotBeReachedIsTriedThreeTimes) {
  std::atomic<int> runs = 0;
  const Error error = ErrorThrownBy([&] {
    ++runs;
    throw Error(ErrorCode::kUnavailable, "no answer", "ps/0");
  });
  EXPECT_THAT(error, IsError(ErrorCode::kUnavailable, HasSubstr("no answer")));
  EXPECT_EQ(error.task(), "ps/0");
  EXPECT_EQ(runs, 3);
}

TEST(ExceptionTest, EmptyAndLongMessagesSurvive) {
  EXPECT_EQ(ErrorThrownBy([] { throw std::runtime_error(""); }).code(),
            ErrorCode::kUnknown);
  const std::string text(100'000, 'x');
  EXPECT_THAT(ErrorThrownBy([&] { throw std::runtime_error(text); }).what(),
              HasSubstr(text));
}

// --- Programs that are not the same everywhere.

TEST(MismatchTest, AFunctionThatWorkersDoNotHaveIsNamed) {
  Definitions workers;
  const auto good = workers.AddFunction("good", [] { return 1; });
  Definitions mine;
  const auto missing = mine.AddFunction("missing", [](int) { return 2.0; });
  Job job(workers, 2, 1);
  const RemoteValue<double> value = job.coordinator.Schedule(missing, 1);
  EXPECT_THAT(ErrorOf([&] { value.Fetch(); }),
              IsError(ErrorCode::kFailedPrecondition,
                      AllOf(HasSubstr("'missing'"), HasSubstr("f64(i32)"),
                            HasSubstr("not defined"), HasSubstr("worker/"),
                            HasSubstr("same program"))));
  EXPECT_THROW(job.coordinator.Join(), Error);
  EXPECT_EQ(job.coordinator.Schedule(good).Fetch(), 1);
}

TEST(MismatchTest, BothSignaturesAreNamed) {
  Definitions workers;
  workers.AddFunction("f", [](std::string) { return 1; });
  Definitions mine;
  const auto f = mine.AddFunction("f", [](int, std::vector<Tensor>) {});
  EXPECT_EQ(f.signature(), "void(i32, list<tensor>)");
  Job job(workers, 2, 1);
  job.coordinator.Schedule(f, 1, std::vector<Tensor>());
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kFailedPrecondition,
                      AllOf(HasSubstr("void(i32, list<tensor>)"),
                            HasSubstr("i32(text)"))));
}

TEST(MismatchTest, OtherOptionsAreNamed) {
  Definitions workers;
  workers.AddFunction("f", [] {});
  Definitions mine;
  const auto f = mine.AddFunction("f", [] {}, {.reads_only = true});
  Job job(workers, 1, 1);
  job.coordinator.Schedule(f);
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kFailedPrecondition, HasSubstr("reads_only")));
}

TEST(MismatchTest, AResourceThatWorkersDoNotHaveFailsItsUsers) {
  Definitions workers;
  const auto use = workers.AddFunction("use", [](PerWorker<int>) {});
  workers.AddResource("other", [](const InputContext&) { return 2.5; });
  Definitions mine;
  const auto missing =
      mine.AddResource("missing", [](const InputContext&) { return 1; });
  const auto other =
      mine.AddResource("other", [](const InputContext&) { return 1; });
  Job job(workers, 2, 1);
  for (const Resource<int>& resource : {missing, other}) {
    const PerWorker<int> handle =
        job.coordinator.CreatePerWorkerResource(resource);
    job.coordinator.Schedule(use, handle);
    EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
                IsError(ErrorCode::kFailedPrecondition,
                        AllOf(HasSubstr("'" + resource.name() + "'"),
                              HasSubstr("int"))));
  }
}

TEST(ReadsOnlyTest, AFunctionThatUpdatesIsRefused) {
  Definitions definitions;
  const auto add = definitions.AddFunction(
      "peek", [](WorkerContext& worker) { AddTo(worker, "n"); },
      {.reads_only = true});
  const auto read = definitions.AddFunction(
      "read",
      [](WorkerContext& worker) {
        return worker.Read("n").Values<std::int64_t>()[0];
      },
      {.reads_only = true});
  Job job(definitions, 1, 1);
  job.CreateCounter("n");
  EXPECT_EQ(job.coordinator.Schedule(read).Fetch(), 0);
  job.coordinator.Schedule(add);
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kFailedPrecondition,
                      AllOf(HasSubstr("'peek'"), HasSubstr("reads_only"),
                            HasSubstr("'n'"))));
  EXPECT_EQ(job.Count("n"), 0);
}

TEST(DefinitionsTest, ANameIsTakenOnce) {
  Definitions definitions;
  definitions.AddFunction("f", [] {});
  EXPECT_THAT(ErrorOf([&] { definitions.AddFunction("f", [](int) {}); }),
              IsError(ErrorCode::kAlreadyExists, HasSubstr("'f'")));
  // Functions and resources have names of their own kind.
  definitions.AddResource("f", [](const InputContext&) { return 1; });
  EXPECT_THAT(ErrorOf([&] {
                definitions.AddDataset("f", [](const InputContext&) {
                  return [] { return std::optional<int>(); };
                });
              }),
              IsError(ErrorCode::kAlreadyExists, HasSubstr("'f'")));
}

TEST(DefinitionsTest, ANameHasOneTo200Bytes) {
  Definitions definitions;
  EXPECT_THAT(ErrorOf([&] { definitions.AddFunction("", [] {}); }),
              IsError(ErrorCode::kInvalidArgument));
  EXPECT_THAT(
      ErrorOf([&] { definitions.AddFunction(std::string(201, 'x'), [] {}); }),
      IsError(ErrorCode::kInvalidArgument, HasSubstr("201")));
  definitions.AddFunction(std::string(200, 'x'), [] {});
}

TEST(DefinitionsTest, NothingIsAddedOnceATaskRuns) {
  Definitions definitions;
  Definitions copy = definitions;
  const LocalCluster local(definitions, 1, 1);
  EXPECT_THAT(ErrorOf([&] { definitions.AddFunction("late", [] {}); }),
              IsError(ErrorCode::kFailedPrecondition, HasSubstr("'late'")));
  EXPECT_THAT(ErrorOf([&] {
                copy.AddResource("late", [](const InputContext&) { return 1; });
              }),
              IsError(ErrorCode::kFailedPrecondition, HasSubstr("'late'")));
}

TEST(OptionsTest, OptionsThatMakeNoSenseAreRefusedByName) {
  LocalCluster local(1, 1);
  const auto refused = [&](const CoordinatorOptions& options,
                           const std::string& field) {
    EXPECT_THAT(ErrorOf([&] { ClusterCoordinator(local.cluster(), options); }),
                IsError(ErrorCode::kInvalidArgument, HasSubstr(field)));
  };
  refused({.max_lost_workers = 0}, "max_lost_workers");
  refused({.queued_per_worker = -1}, "queued_per_worker");
  refused({.no_worker_timeout = std::chrono::seconds(-1)}, "no_worker_timeout");
  refused({.watchdog = std::chrono::seconds(-1)}, "watchdog");
  ClusterCoordinator coordinator(local.cluster());
  coordinator.Join();
}

TEST(OptionsTest, AVariableThatExistsIsRefusedByName) {
  Job job(Definitions(), 1, 1);
  job.CreateCounter("n");
  EXPECT_THAT(ErrorOf([&] { job.CreateCounter("n"); }),
              IsError(ErrorCode::kAlreadyExists, HasSubstr("\"n\"")));
  EXPECT_THAT(ErrorOf([&] {
                job.coordinator.CreateVariables(
                    {{.name = "ok", .shape = {1}}, {.name = "", .shape = {1}}});
              }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("name")));
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Read("ok"); }),
              IsError(ErrorCode::kNotFound))
      << "all or none";
}

}  // namespace
}  // namespace capstan
