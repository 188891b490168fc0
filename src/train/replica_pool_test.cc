#include "train/replica_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "capstan/error.h"
#include "train/step_config.h"

namespace capstan {
namespace {

class EmptyReplica : public ModelReplica {
 public:
  std::vector<ModelVariable> Variables() override { return {}; }
  void Train(WorkerContext&, const StepConfig&, const NextBatch&,
             std::span<const std::unique_ptr<MetricState>>,
             StepReport&) override {}
  void Evaluate(WorkerContext&, const StepConfig&, const NextBatch&,
                std::span<const std::unique_ptr<MetricState>>,
                StepReport&) override {}
  void Predict(WorkerContext&, const StepConfig&, const NextBatch&,
               const std::function<void(Tensor)>&) override {}
};

struct ReplicaPoolTest : public ::testing::Test {
  int made = 0;
  ReplicaPool pool{std::make_shared<const ModelDefinition>(ModelDefinition{
      .name = "m", .make = [this]() -> std::unique_ptr<ModelReplica> {
        ++made;
        return std::make_unique<EmptyReplica>();
      }})};

  static std::string Order(std::vector<MetricSpec> metrics) {
    StepConfig order;
    order.metrics = std::move(metrics);
    return EncodeOrder(order);
  }
};

TEST_F(ReplicaPoolTest, MakesAsManyAsAreUsedAtOnce) {
  const std::string order = Order({});
  for (int i = 0; i < 3; ++i) {
    ReplicaPool::Lease one = pool.Take(order);
    ReplicaPool::Lease other = pool.Take(order);
    EXPECT_NE(&one.replica(), &other.replica());
    std::move(one).GiveBack();
    std::move(other).GiveBack();
  }
  EXPECT_EQ(made, 2);
}

TEST_F(ReplicaPoolTest, OneThatIsNotGivenBackIsGone) {
  { const ReplicaPool::Lease lease = pool.Take(Order({})); }
  pool.Take(Order({}));
  EXPECT_EQ(made, 2);
}

TEST_F(ReplicaPoolTest, MetricsAreThoseOfTheOrderAndHaveSeenNothing) {
  const Tensor three = Tensor::FromValues({1}, {3.0f});
  for (int i = 0; i < 2; ++i) {
    ReplicaPool::Lease lease = pool.Take(Order({Mean{}}));
    ASSERT_EQ(lease.metrics().size(), 1u);
    EXPECT_EQ(lease.metrics()[0]->Result(), 0);
    lease.metrics()[0]->Update({three.view(), three.view()});
    EXPECT_EQ(lease.metrics()[0]->Result(), 3);
    std::move(lease).GiveBack();
  }
  EXPECT_EQ(pool.Take(Order({Mean{}, Accuracy{}})).metrics().size(), 2u);
  EXPECT_EQ(made, 1);
}

TEST_F(ReplicaPoolTest, AnOrderThatIsNoneIsRefused) {
  EXPECT_THROW(pool.Take("nonsense"), Error);
  EXPECT_THROW(pool.Take(Order({CustomMetric{.name = "none"}})), Error);
}

}  // namespace
}  // namespace capstan
