#include "train/step_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/error.h"

namespace capstan {
namespace {

StepConfig SomeOrder() {
  StepConfig order;
  order.loss = Huber{.delta = 2.5};
  order.metrics = {Accuracy{}, Auc{.thresholds = 7, .from_logits = false},
                   TopKAccuracy{.k = 3, .name = "top3"},
                   CustomMetric{.name = "mine"}};
  order.class_weights = {{-1, 0.5}, {7, 2}};
  order.input = "pixels";
  order.target = "label";
  order.weight = "w";
  order.update = Sync{.replicas = 4, .backup = 1};
  order.prefetch = true;
  order.call = 3;
  return order;
}

TEST(StepConfigTest, ReadsBack) {
  const StepConfig order = DecodeOrder(EncodeOrder(SomeOrder()));
  EXPECT_EQ(std::get<Huber>(order.loss).delta, 2.5);
  ASSERT_EQ(order.metrics.size(), 4u);
  EXPECT_EQ(NameOf(order.metrics[0]), "accuracy");
  EXPECT_EQ(std::get<Auc>(order.metrics[1]).thresholds, 7);
  EXPECT_EQ(std::get<Auc>(order.metrics[1]).from_logits, false);
  EXPECT_EQ(std::get<TopKAccuracy>(order.metrics[2]).k, 3);
  EXPECT_EQ(NameOf(order.metrics[2]), "top3");
  EXPECT_EQ(std::get<CustomMetric>(order.metrics[3]).name, "mine");
  EXPECT_EQ(order.class_weights, SomeOrder().class_weights);
  EXPECT_EQ(order.input, "pixels");
  EXPECT_EQ(order.target, "label");
  EXPECT_EQ(order.weight, "w");
  EXPECT_EQ(std::get<Sync>(order.update).backup, 1);
  EXPECT_TRUE(order.prefetch);
  EXPECT_EQ(order.call, 3u);
}

TEST(StepConfigTest, EqualOrdersGiveEqualTexts) {
  EXPECT_EQ(EncodeOrder(SomeOrder()), EncodeOrder(SomeOrder()));
  EXPECT_NE(EncodeOrder(SomeOrder()), EncodeOrder(StepConfig()));
}

TEST(StepConfigTest, RefusesWhatIsNoOrder) {
  const std::string text = EncodeOrder(SomeOrder());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THROW(DecodeOrder(text.substr(0, size)), Error) << size;
  }
  EXPECT_THROW(DecodeOrder(text + "x"), Error);
}

}  // namespace
}  // namespace capstan
