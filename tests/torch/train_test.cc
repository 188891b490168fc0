// Modules trained on a cluster, against the same training by libtorch alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/serialize.h>

#include <sstream>

#include "capstan/error.h"
#include "torch/models.h"

namespace capstan {
namespace {

using testing::Alone;
using testing::Batches;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::kBatch;
using testing::kBatches;
using testing::kRate;
using testing::Make;
using testing::Net;
using ::testing::Not;
using testing::Points;

template <typename M>
void Descend(M& module, const std::vector<torch::Tensor>& gradients) {
  const torch::NoGradGuard no_gradients;
  size_t i = 0;
  for (torch::Tensor& parameter : module.parameters()) {
    parameter.sub_(gradients[i++], kRate);
  }
}

template <typename M>
std::vector<torch::Tensor> GradientsOf(M& module, const Example& batch) {
  module.zero_grad();
  const torch::Tensor predictions = module.forward(ToTorch(batch["x"]));
  torch::mse_loss(predictions, ToTorch(batch["y"]).reshape_as(predictions))
      .backward();
  std::vector<torch::Tensor> gradients;
  for (const torch::Tensor& parameter : module.parameters()) {
    gradients.push_back(parameter.grad().clone());
  }
  return gradients;
}

// One pass over the batches, by libtorch alone.
template <typename M>
std::map<std::string, Tensor> Expected() {
  return Alone<M>("net", [](M& module) {
    const auto next = Batches().Open();
    while (const std::optional<Example> batch = next()) {
      Descend(module, GradientsOf(module, *batch));
    }
  });
}

void ExpectNear(const std::map<std::string, Tensor>& values,
                const std::map<std::string, Tensor>& expected,
                double tolerance) {
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(values.contains(name)) << name;
    const torch::Tensor a = ToTorch(values.at(name)).to(torch::kFloat64);
    const torch::Tensor b = ToTorch(tensor).to(torch::kFloat64);
    EXPECT_LE((a - b).abs().max().item<double>(), tolerance) << name;
  }
}

struct NetJob {
  template <typename M>
  static NetJob Of(int workers = 1, int servers = 2,
                   const TorchOptions& options = {}) {
    Definitions program;
    const Model model = AddModel(
        program, "net", [] { return Make<M>(); }, options);
    const DatasetHandle data = program.AddDataset(
        "data", [](const InputContext&) { return Batches(); });
    return NetJob(program, model, data, workers, servers);
  }

  NetJob(const Definitions& program, Model of, DatasetHandle given, int workers,
         int servers)
      : model(std::move(of)),
        data(std::move(given)),
        cluster(std::make_unique<LocalCluster>(program, workers, servers)) {}

  std::map<std::string, Tensor> Train(TrainerOptions options, int epochs = 1) {
    options.optimizer = Sgd{.learning_rate = kRate};
    Trainer trainer(cluster->cluster(), model, options);
    trainer.Fit(data, {.epochs = epochs, .verbose = Verbose::kSilent});
    return trainer.Values();
  }

  Model model;
  DatasetHandle data;
  std::unique_ptr<LocalCluster> cluster;
};

TEST(TrainTorchTest, OneWorkerIsAsLibtorchAlone) {
  ExpectNear(NetJob::Of<Net>().Train({}), Expected<Net>(), 1e-6);
}

TEST(TrainTorchTest, ValuesGoIntoAModuleThroughAFileAndBack) {
  NetJob job = NetJob::Of<Net>();
  Trainer trainer(job.cluster->cluster(), job.model);
  trainer.Fit(job.data, {.verbose = Verbose::kSilent});
  auto trained = Make<Net>();
  CopyValues(trainer, *trained);
  const auto values = trainer.Values();
  for (const auto& item : trained->named_parameters()) {
    EXPECT_TRUE(item.value().equal(ToTorch(values.at("net/" + item.key()))));
  }
  std::stringstream file;
  torch::save(trained, file);
  // Others in between.
  AssignValues(trainer, *Make<Net>());
  EXPECT_NE(trainer.Values().at("net/one.weight"), values.at("net/one.weight"));
  auto loaded = Make<Net>();
  torch::load(loaded, file);
  AssignValues(trainer, *loaded);
  EXPECT_EQ(trainer.Values().at("net/one.weight"), values.at("net/one.weight"));
}

TEST(TrainTorchTest, AnotherModuleHasNoValuesHere) {
  NetJob job = NetJob::Of<Net>();
  Trainer trainer(job.cluster->cluster(), job.model);
  struct Other : torch::nn::Module {
    torch::nn::Linear three = register_module("three", torch::nn::Linear(4, 8));
  } other;
  struct Wider : torch::nn::Module {
    torch::nn::Linear one = register_module("one", torch::nn::Linear(4, 9));
  } wider;
  const auto message = [&](torch::nn::Module& module) {
    try {
      CopyValues(trainer, module);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(message(other), HasSubstr("net/three.weight"));
  EXPECT_THAT(message(wider), HasSubstr("net/one.weight"));
}

struct Line : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) { return one->forward(x); }
  torch::nn::Linear one = register_module("one", torch::nn::Linear(4, 1));
};

// How old the values are that a step reads ahead depends on the moment. So the
// gradients do not depend on the values here: whatever they are, all of them
// must be in the sum, and once.
TEST(TrainTorchTest, ReadingAheadAppliesEveryGradientOnce) {
  const TorchOptions options = {
      .losses = {{"output",
                  [](const torch::Tensor& predictions, const torch::Tensor&) {
                    return predictions.flatten();
                  }}}};
  const auto expected = Alone<Line>("net", [](Line& module) {
    for (int epoch = 0; epoch < 3; ++epoch) {
      const auto next = Batches().Open();
      while (const std::optional<Example> batch = next()) {
        module.zero_grad();
        module.forward(ToTorch((*batch)["x"])).mean().backward();
        Descend(module, {module.one->weight.grad(), module.one->bias.grad()});
      }
    }
  });
  const TrainerOptions ahead = {.loss = CustomLoss{"output"}, .prefetch = true};
  for (const int workers : {1, 3}) {
    ExpectNear(NetJob::Of<Line>(workers, 2, options).Train(ahead, 3), expected,
               1e-5);
  }
}

struct Normed : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    return two->forward(norm->forward(one->forward(x)));
  }
  torch::nn::Linear one = register_module("one", torch::nn::Linear(4, 8));
  torch::nn::BatchNorm1d norm =
      register_module("norm", torch::nn::BatchNorm1d(8));
  torch::nn::Linear two = register_module("two", torch::nn::Linear(8, 1));
};

TEST(TrainTorchTest, RunningStatisticsAreThoseOfAllBatches) {
  ExpectNear(NetJob::Of<Normed>().Train({}), Expected<Normed>(), 1e-5);
}

TEST(TrainTorchTest, WhatIsFrozenStays) {
  struct Frozen : Net {
    Frozen() { two->weight.set_requires_grad(false); }
  };
  const auto values = NetJob::Of<Frozen>().Train({});
  EXPECT_EQ(values.at("net/two.weight"),
            FromTorch(Make<Frozen>()->two->weight));
  EXPECT_NE(values.at("net/one.weight"),
            FromTorch(Make<Frozen>()->one->weight));
}

// Rounds of 4 batches: the same bits whoever computes which.
TEST(TrainTorchTest, SynchronousTrainingIsTheSameToTheBit) {
  const TrainerOptions sync = {.update = Sync{.replicas = 4}};
  const auto one = NetJob::Of<Net>(1).Train(sync, 2);
  for (const int workers : {2, 4}) {
    EXPECT_EQ(NetJob::Of<Net>(workers, 1).Train(sync, 2), one) << workers;
  }
  // And it is the mean of the four.
  const auto expected = Alone<Net>("net", [](Net& module) {
    for (int epoch = 0; epoch < 2; ++epoch) {
      const auto next = Batches().Open();
      for (int64_t round = 0; round < kBatches / 4; ++round) {
        std::vector<torch::Tensor> sum;
        for (int i = 0; i < 4; ++i) {
          const auto gradients = GradientsOf(module, *next());
          for (size_t p = 0; p < gradients.size(); ++p) {
            if (i == 0) {
              sum.push_back(gradients[p] / 4);
            } else {
              sum[p] += gradients[p] / 4;
            }
          }
        }
        Descend(module, sum);
      }
    }
  });
  ExpectNear(one, expected, 1e-5);
}

TEST(TrainTorchTest, ManyWorkersLearn) {
  for (const bool prefetch : {false, true}) {
    NetJob job = NetJob::Of<Net>(4);
    Trainer trainer(
        job.cluster->cluster(), job.model,
        {.optimizer = Sgd{.learning_rate = kRate}, .prefetch = prefetch});
    const History history =
        trainer.Fit(job.data, {.epochs = 20, .verbose = Verbose::kSilent});
    EXPECT_LT(history["loss"].back(), 0.5 * history["loss"].front());
    EXPECT_EQ(trainer.iterations(), 20 * kBatches);
  }
}

TEST(TrainTorchTest, EvaluateAndPredictAreThoseOfTheModule) {
  NetJob job = NetJob::Of<Net>(2);
  Trainer trainer(job.cluster->cluster(), job.model, {});
  const std::shared_ptr<Net> net = Make<Net>();
  const Example all = Points(kBatch * kBatches);
  const torch::Tensor expected = net->forward(ToTorch(all["x"]));
  const torch::Tensor found = ToTorch(trainer.Predict(job.data));
  EXPECT_TRUE(torch::allclose(found, expected, 1e-5, 1e-6));
  const auto logs = trainer.Evaluate(job.data, {.verbose = Verbose::kSilent});
  EXPECT_NEAR(
      logs.at("loss"),
      torch::mse_loss(expected.squeeze(1), ToTorch(all["y"])).item<double>(),
      1e-5);
}

TEST(TrainTorchTest, WhatGoesWrongInTheModuleIsOneLine) {
  struct Wrong : Net {
    torch::Tensor forward(const torch::Tensor& x) { return torch::mm(x, x); }
  };
  NetJob job = NetJob::Of<Wrong>();
  const std::string text = ErrorOf([&] { job.Train({}); });
  EXPECT_THAT(text, HasSubstr("mat1 and mat2"));
  EXPECT_THAT(text, Not(HasSubstr("frame #")));
}

TEST(TrainTorchTest, ParametersOfDoublesAreRefused) {
  struct Double : Net {
    Double() { to(torch::kFloat64); }
  };
  NetJob job = NetJob::Of<Double>();
  EXPECT_THAT(ErrorOf([&] { job.Train({}); }),
              HasSubstr("parameter 'one.weight' is Double"));
}

}  // namespace
}  // namespace capstan
