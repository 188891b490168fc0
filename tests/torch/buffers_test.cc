// What becomes of a module's buffers, and of tensors with two names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <limits>

#include "capstan/error.h"
#include "torch/models.h"

namespace capstan {
namespace {

using testing::Alone;
using testing::Batches;
using ::testing::HasSubstr;
using testing::kBatch;
using testing::kBatches;
using testing::kRate;
using testing::Make;
using testing::Points;

// A job that trains an M, called "net".
template <typename M>
class BufferJob {
 public:
  explicit BufferJob(int workers, const TrainerOptions& options = {})
      : cluster_(program_, workers, 2),
        trainer_(cluster_.cluster(), model_, WithSgd(options)) {}

  Trainer& Fit(int epochs = 1) {
    trainer_.Fit(data_, {.epochs = epochs, .verbose = Verbose::kSilent});
    return trainer_;
  }

 private:
  static TrainerOptions WithSgd(TrainerOptions options) {
    options.optimizer = Sgd{.learning_rate = kRate};
    return options;
  }

  Definitions program_;
  const Model model_ = AddModel(program_, "net", [] { return Make<M>(); });
  const DatasetHandle data_ = program_.AddDataset(
      "data", [](const InputContext&) { return Batches(); });
  LocalCluster cluster_;
  Trainer trainer_;
};

// The same by libtorch alone.
template <typename M>
std::map<std::string, Tensor> TrainedAlone() {
  // Threads that wait for one another take long on a machine that is busy.
  torch::set_num_threads(1);
  return Alone<M>("net", [](M& module) {
    std::vector<torch::Tensor> parameters = module.parameters();
    torch::optim::SGD optimizer(parameters, kRate);
    const auto next = Batches().Open();
    while (const std::optional<Example> batch = next()) {
      optimizer.zero_grad();
      const torch::Tensor predictions = module.forward(ToTorch((*batch)["x"]));
      torch::mse_loss(predictions,
                      ToTorch((*batch)["y"]).reshape_as(predictions))
          .backward();
      optimizer.step();
    }
  });
}

double Distance(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

struct CountedNet : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    if (is_training()) {
      seen += x.size(0);
      late.fill_(seen.item<int64_t>() > kBatch);
    }
    return one->forward(norm->forward(x));
  }
  torch::nn::BatchNorm1d norm =
      register_module("norm", torch::nn::BatchNorm1d(4));
  torch::nn::Linear one = register_module("one", torch::nn::Linear(4, 1));
  torch::Tensor seen =
      register_buffer("seen", torch::zeros({1}, torch::kInt32));
  torch::Tensor late = register_buffer("late", torch::zeros({1}, torch::kBool));
};

// Whoever trains on them, and in whatever mode.
TEST(BuffersTest, IntegersCountAllBatches) {
  const TrainerOptions modes[] = {
      {},
      {.prefetch = true},
      {.update = Sync{.replicas = 2}},
      {.update = BoundedStaleness{.replicas = 3, .bound = 1}}};
  for (const TrainerOptions& mode : modes) {
    BufferJob<CountedNet> job(3, mode);
    Trainer& trainer = job.Fit(2);
    const auto copy = Make<CountedNet>();
    CopyValues(trainer, *copy);
    EXPECT_EQ(copy->norm->num_batches_tracked.item<int64_t>(), 2 * kBatches);
    EXPECT_EQ(copy->seen.item<int32_t>(), 2 * kBatches * kBatch);
    EXPECT_TRUE(copy->late.item<bool>());
  }
}

// Twice by the module that it is in, and twice as a tensor.
struct Tied : torch::nn::Module {
  Tied() {
    register_module("again", one);
    register_parameter("other", one->weight);
    register_buffer("same", scale);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return two->forward(one->forward(torch::tanh(one->forward(x)))) * scale;
  }
  torch::nn::Linear one = register_module("one", torch::nn::Linear(4, 4));
  torch::nn::Linear two = register_module("two", torch::nn::Linear(4, 1));
  torch::Tensor scale = register_buffer("scale", torch::ones({1}));
};

TEST(BuffersTest, OneTensorUnderTwoNamesIsOneVariable) {
  BufferJob<Tied> job(1);
  Trainer& trainer = job.Fit();
  std::map<std::string, Tensor> values = trainer.Values();
  values.erase("net/iterations");
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  EXPECT_THAT(names,
              ::testing::ElementsAre("net/one.bias", "net/other", "net/scale",
                                     "net/two.bias", "net/two.weight"));
  // libtorch's list has the tensors twice, and so its optimizer would step
  // twice.
  const auto expected = Alone<Tied>("net", [](Tied& module) {
    std::vector<torch::Tensor> parameters = module.one->parameters();
    for (const auto& p : module.two->parameters()) parameters.push_back(p);
    torch::optim::SGD optimizer(parameters, kRate);
    const auto next = Batches().Open();
    while (const std::optional<Example> batch = next()) {
      optimizer.zero_grad();
      torch::mse_loss(module.forward(ToTorch((*batch)["x"])).squeeze(1),
                      ToTorch((*batch)["y"]))
          .backward();
      optimizer.step();
    }
  });
  for (const auto& [name, value] : values) {
    EXPECT_LE(Distance(ToTorch(value), ToTorch(expected.at(name))), 1e-5)
        << name;
  }
  const auto copy = Make<Tied>();
  CopyValues(trainer, *copy);
  EXPECT_EQ(FromTorch(copy->one->weight), values.at("net/other"));
  AssignValues(trainer, *Make<Tied>());
  EXPECT_EQ(trainer.Values().at("net/other"),
            FromTorch(Make<Tied>()->one->weight));
}

struct TiedEmbedding : torch::nn::Module {
  TiedEmbedding() { register_module("again", table); }
  torch::Tensor forward(const torch::Tensor& x) {
    return table->forward(x.select(1, 0).to(torch::kInt64).abs()).sum(1);
  }
  Embedding table = register_module("table", Embedding(4, 2, Constant{0.5}));
};

TEST(BuffersTest, OneEmbeddingUnderTwoNamesIsOneVariable) {
  BufferJob<TiedEmbedding> job(1);
  const auto values = job.Fit().Values();
  EXPECT_TRUE(values.contains("net/table.weight"));
  EXPECT_FALSE(values.contains("net/again.weight"));
}

TEST(BuffersTest, TwoTensorsInOneMemoryAreRefused) {
  struct Shared : torch::nn::Module {
    Shared() { two->weight.set_data(one->weight.data().t()); }
    torch::Tensor forward(const torch::Tensor& x) { return two->forward(x); }
    torch::nn::Linear one = register_module("one", torch::nn::Linear(4, 1));
    torch::nn::Linear two = register_module("two", torch::nn::Linear(1, 4));
  };
  try {
    BufferJob<Shared> job(1);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("'one.weight' and 'two.weight'"));
  }
}

// What does not change is not sent, whatever it holds.
TEST(BuffersTest, ConstantsStay) {
  struct Masked : torch::nn::Module {
    torch::Tensor forward(const torch::Tensor& x) {
      return one->forward(torch::softmax(x + mask, 1) * row);
    }
    torch::nn::Linear one = register_module("one", torch::nn::Linear(4, 1));
    torch::Tensor mask = register_buffer(
        "mask", torch::tensor({0.0f, -std::numeric_limits<float>::infinity(),
                               0.1f, 0.3f}));
    // One element in memory.
    torch::Tensor row = register_buffer("row", torch::full({1}, 0.7).expand(4));
  };
  for (const UpdateMode& update :
       {UpdateMode(Async{}), UpdateMode(Sync{.replicas = 3})}) {
    BufferJob<Masked> job(2, {.update = update});
    const auto values = job.Fit().Values();
    EXPECT_EQ(values.at("net/mask"), FromTorch(Make<Masked>()->mask));
    EXPECT_EQ(values.at("net/row"), FromTorch(torch::full({4}, 0.7)));
  }
}

// Statistics of the input, which does not depend on the order of steps.
struct Statistics : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) {
    return one->forward(cumulative->forward(x) + often->forward(x) +
                        often->forward(x) + often->forward(x) +
                        often->forward(x) + norm->forward(x) + Own(x));
  }
  // An average of a module's own, of which nobody else knows the rule.
  torch::Tensor Own(const torch::Tensor& x) {
    const torch::NoGradGuard no_gradients;
    own.lerp_(x.mean(0), 0.1);
    return own.clone();
  }

  torch::nn::BatchNorm1d norm =
      register_module("norm", torch::nn::BatchNorm1d(4));
  torch::nn::BatchNorm1d often =
      register_module("often", torch::nn::BatchNorm1d(4));
  torch::nn::BatchNorm1d cumulative = register_module(
      "cumulative", torch::nn::BatchNorm1d(
                        torch::nn::BatchNormOptions(4).momentum(c10::nullopt)));
  torch::Tensor own = register_buffer("own", torch::zeros({4}));
  torch::nn::Linear one = register_module("one", torch::nn::Linear(4, 1));
};

TEST(BuffersTest, StatisticsOfOneWorkerAreThoseOfLibtorch) {
  auto expected = TrainedAlone<Statistics>();
  // The batches of one step are one batch to it.
  std::erase_if(expected, [](const auto& item) {
    return item.first.find("often.running") != std::string::npos;
  });
  BufferJob<Statistics> job(1);
  const auto values = job.Fit().Values();
  for (const auto& [name, value] : expected) {
    EXPECT_LE(Distance(ToTorch(values.at(name)), ToTorch(value)), 1e-5) << name;
  }
}

constexpr int kMany = 32;
constexpr int kWaves = 40;

// All have read before any of them writes: each forward is of values to which
// all the others have been added since.
TEST(BuffersTest, StatisticsAreStableWithManyWorkers) {
  std::barrier all(kMany);
  Definitions program;
  const auto model =
      AddModel(program, "net", [] { return Make<Statistics>(); });
  const torch::Tensor noise = testing::Numbers({kMany * kWaves * kBatch, 4});
  const auto train = program.AddFunction(
      "train", [&](WorkerContext& worker,
                   const PerWorker<Replicas<Statistics>>& replicas, int64_t i) {
        int64_t wave = 0;
        const auto next = [&]() -> std::optional<torch::Tensor> {
          if (wave == kWaves) return std::nullopt;
          const int64_t batch = kMany * wave++ + i;
          return 3 + 2 * noise.narrow(0, batch * kBatch, kBatch);
        };
        replicas->Steps(worker, next,
                        [&](Statistics& net, const torch::Tensor& x) {
                          all.arrive_and_wait();
                          return net.forward(x).mean();
                        });
      });
  LocalCluster cluster(program, kMany, 2);
  Trainer trainer(cluster.cluster(), model,
                  {.optimizer = Sgd{.learning_rate = 1e-3}});
  ClusterCoordinator& coordinator = trainer.coordinator();
  const auto replicas = coordinator.CreatePerWorkerResource(model.replicas());
  for (int64_t i = 0; i < kMany; ++i) coordinator.Schedule(train, replicas, i);
  coordinator.Join();

  const auto found = Make<Statistics>();
  CopyValues(trainer, *found);
  const torch::Tensor data = 3 + 2 * noise;
  const torch::Tensor mean = data.mean(0);
  const torch::Tensor variance = data.var(0);
  for (const auto& norm : {found->norm, found->often}) {
    EXPECT_LE(Distance(norm->running_mean, mean), 0.3) << norm->running_mean;
    EXPECT_LE(Distance(norm->running_var, variance), 0.6) << norm->running_var;
  }
  EXPECT_LE(Distance(found->own, mean), 0.6) << found->own;
  // Of each batch as much as of any other.
  EXPECT_LE(Distance(found->cumulative->running_mean, mean), 1e-3);
  EXPECT_EQ(found->often->num_batches_tracked.item<int64_t>(),
            4 * kMany * kWaves);
}

}  // namespace
}  // namespace capstan
