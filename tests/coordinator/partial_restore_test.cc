// Restoring some of the variables, and variables that are made later.
#include "coordinator/checkpoint_helpers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::Job;
using testing::SaveIn;
using testing::TempDir;

class PartialRestoreTest : public ::testing::Test {
 protected:
  PartialRestoreTest() {
    Job job(Definitions(), 1, 2);
    job.coordinator.CreateVariables(
        {{.name = "a/w", .shape = {2}, .initializer = Constant{1}},
         {.name = "a/b", .shape = {2}, .initializer = Constant{2}},
         {.name = "c/w", .shape = {2}, .initializer = Constant{3}}});
    SaveIn(job.coordinator, dir_.path());
  }
  void Create(const std::string& name, const Shape& shape = {2},
              DType dtype = DType::kF32) {
    job_.coordinator.CreateVariables(
        {{.name = name, .shape = shape, .dtype = dtype}});
  }

  const TempDir dir_;
  Job job_{Definitions(), 1, 3};
  CheckpointManager manager_{job_.coordinator, dir_.path()};
};

TEST_F(PartialRestoreTest, ByPatterns) {
  Create("a/w");
  Create("a/b");
  Create("c/w");
  const RestoreReport report = manager_.Restore({.only = {"*/w"}});
  EXPECT_THAT(report.restored, ElementsAre("a/w", "c/w"));
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(1, 1));
  EXPECT_THAT(job_.Floats("a/b"), ElementsAre(0, 0));
  EXPECT_THAT(job_.Floats("c/w"), ElementsAre(3, 3));
  EXPECT_THAT(ErrorOf([&] { manager_.Restore({.only = {"nothing*"}}); }),
              IsError(ErrorCode::kInvalidArgument,
                      AllOf(HasSubstr("ckpt-1"), HasSubstr("'nothing*'"))));
}

TEST_F(PartialRestoreTest, MissingOnesStayAndAreListed) {
  Create("a/w");
  Create("new");
  EXPECT_THAT(
      ErrorOf([&] { manager_.Restore(); }),
      IsError(ErrorCode::kFailedPrecondition,
              AllOf(HasSubstr("ckpt-1"), HasSubstr("'new'"),
                    HasSubstr("'a/b', 'c/w'"), HasSubstr("allow_missing"))));
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(0, 0));
  const RestoreReport report = manager_.Restore({.allow_missing = true});
  EXPECT_THAT(report.restored, ElementsAre("a/w"));
  EXPECT_THAT(report.missing, ElementsAre("new"));
  EXPECT_THAT(report.unexpected, ElementsAre("a/b", "c/w"));
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(1, 1));
}

TEST_F(PartialRestoreTest, OthersAreNamedAndNothingChanges) {
  Create("a/w");
  Create("a/b", {3});
  Create("c/w", {2}, DType::kI32);
  EXPECT_THAT(
      ErrorOf([&] { manager_.Restore({.allow_missing = true}); }),
      IsError(ErrorCode::kFailedPrecondition,
              AllOf(HasSubstr("'a/b'"), HasSubstr("'c/w'"), HasSubstr("i32"))));
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(0, 0));
}

TEST_F(PartialRestoreTest, VariablesThatAreMadeLater) {
  Create("a/w");
  const RestoreReport report = manager_.Restore({.when_created = true});
  EXPECT_THAT(report.restored, ElementsAre("a/w"));
  Create("a/b");
  Create("new");
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(1, 1));
  EXPECT_THAT(job_.Floats("a/b"), ElementsAre(2, 2));
  EXPECT_THAT(job_.Floats("new"), ElementsAre(0, 0));
  // Once: what there was is not restored again.
  job_.coordinator.Assign("a/w", Tensor::FromValues<float>({2}, {8, 9}));
  {
    // Another manager that comes and goes has nothing to do with it.
    const TempDir elsewhere;
    const CheckpointManager other(job_.coordinator, elsewhere.path());
  }
  Create("c/w");
  EXPECT_THAT(job_.Floats("c/w"), ElementsAre(3, 3));
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(8, 9));
}

TEST_F(PartialRestoreTest, BeforeThereIsASingleVariable) {
  EXPECT_THAT(manager_.Restore({.when_created = true}).restored, IsEmpty());
  Create("a/w");
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(1, 1));
}

}  // namespace
}  // namespace capstan
