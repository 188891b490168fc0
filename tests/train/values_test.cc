// The values of a trainer: read, set, saved and loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/file/open_folder.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "testing/temp_dir.h"
#include "train/linear_model.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using ::testing::Key;
using testing::PlaneBatches;
using testing::TempDir;
using testing::TrainJob;

void WriteTensors(const std::string& path,
                  const std::map<std::string, Tensor>& values) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : values) {
    tensors.push_back({name, value.view()});
  }
  const FileInFolder file = OpenFolderOf(path, IfMissing::kCreate);
  ThrowIfError(WriteSafetensors(*file.folder, file.name, tensors));
}

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

TEST(ValuesTest, WhatDoesNotFitInAFileIsNamedAndChangesNothing) {
  const TempDir dir;
  const std::string path = dir.path() + "/a.safetensors";
  TrainJob job(PlaneBatches(80, 8));
  const std::map<std::string, Tensor> before = job.trainer().Values();
  const auto refused = [&](const std::map<std::string, Tensor>& values,
                           const std::string& why) {
    WriteTensors(path, values);
    EXPECT_THAT(ErrorOf([&] { job.trainer().Load(path); }),
                IsError(ErrorCode::kInvalidArgument,
                        AllOf(HasSubstr(path), HasSubstr(why))));
    EXPECT_EQ(job.trainer().Values(), before);
  };
  std::map<std::string, Tensor> values = before;
  values.erase("linear/w");
  refused(values, "no value for variable 'linear/w'");
  values = before;
  values["linear/w"] = Tensor::Zeros(DType::kF64, {4});
  refused(values, "'linear/w' is f32[3], and its value f64[4]");
  values = before;
  values["linear/c"] = Tensor::Zeros(DType::kF32, {4});
  refused(values, "no variable 'linear/c'");
}

TEST(ValuesTest, AFileOfDoublesWithoutTheIterationsIsLoaded) {
  const TempDir dir;
  const std::string path = dir.path() + "/a.safetensors";
  WriteTensors(path, {{"linear/w", Tensor::FromValues({3}, {0.1, 0.2, 0.5})},
                      {"linear/b", Tensor::FromValues({1}, {7.0})}});
  TrainJob job(PlaneBatches(80, 8));
  job.trainer().Fit(job.data, TrainJob::Quiet({}));
  job.trainer().Load(path);
  EXPECT_EQ(job.trainer().Values().at("linear/w"),
            Tensor::FromValues({3}, {0.1f, 0.2f, 0.5f}));
  EXPECT_EQ(job.trainer().Values().at("linear/b"),
            Tensor::FromValues({1}, {7.0f}));
  EXPECT_EQ(job.trainer().iterations(), 10);
}

}  // namespace
}  // namespace capstan
