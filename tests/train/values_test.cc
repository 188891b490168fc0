// The values of a trainer: read, set, saved and loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "testing/temp_dir.h"
#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using ::testing::Key;
using testing::PlaneBatches;
using testing::TempDir;
using testing::TrainJob;

TEST(ValuesTest, AreTheVariablesAndTheIterations) {
  TrainJob job(PlaneBatches(80, 8));
  const std::map<std::string, Tensor> values = job.trainer().Values();
  EXPECT_THAT(values, ElementsAre(Key("linear/b"), Key("linear/iterations"),
                                  Key("linear/w")));
  EXPECT_EQ(values.at("linear/b"), Tensor::FromValues({1}, {0.5f}));
  EXPECT_EQ(values.at("linear/w"), Tensor::Zeros(DType::kF32, {3}));
}

TEST(ValuesTest, AreSavedAndLoaded) {
  const TempDir dir;
  const std::string path = dir.path() + "/deep/down/model.safetensors";
  TrainJob job(PlaneBatches(80, 8));
  job.trainer().Fit(job.data, TrainJob::Quiet({}));
  const std::map<std::string, Tensor> trained = job.trainer().Values();
  job.trainer().Save(path);
  job.trainer().Fit(job.data, TrainJob::Quiet({}));
  EXPECT_NE(job.trainer().Values(), trained);
  job.trainer().Load(path);
  EXPECT_EQ(job.trainer().Values(), trained);
  EXPECT_EQ(job.trainer().iterations(), 10);
}

TEST(ValuesTest, WhatDoesNotFitIsNamedAndChangesNothing) {
  TrainJob job(PlaneBatches(80, 8));
  const std::map<std::string, Tensor> before = job.trainer().Values();
  const auto refused = [&](const std::map<std::string, Tensor>& values,
                           const std::string& why) {
    EXPECT_THAT(ErrorOf([&] { job.trainer().SetValues(values); }),
                IsError(ErrorCode::kInvalidArgument, HasSubstr(why)));
    EXPECT_EQ(job.trainer().Values(), before);
  };
  std::map<std::string, Tensor> values = before;
  values.erase("linear/w");
  refused(values, "no value for variable 'linear/w'");
  values = before;
  values["linear/w"] = Tensor::Zeros(DType::kF32, {4});
  refused(values, "'linear/w' is f32[3], and its value f32[4]");
  values = before;
  values["linear/c"] = Tensor::Zeros(DType::kF32, {4});
  refused(values, "no variable 'linear/c'");
}

TEST(ValuesTest, AFileThatIsNotThereOrDamagedIsNamed) {
  const TempDir dir;
  TrainJob job(PlaneBatches(80, 8));
  EXPECT_THAT(
      ErrorOf([&] { job.trainer().Load(dir.path() + "/none.safetensors"); }),
      IsError(ErrorCode::kNotFound, HasSubstr("none.safetensors")));
  std::ofstream(dir.path() + "/bad.safetensors") << "short";
  EXPECT_THAT(
      ErrorOf([&] { job.trainer().Load(dir.path() + "/bad.safetensors"); }),
      IsError(ErrorCode::kDataLoss, HasSubstr("bad.safetensors")));
}

}  // namespace
}  // namespace capstan
