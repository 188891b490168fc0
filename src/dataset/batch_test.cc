#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/dataset.h"
#include "dataset/read_all_test.h"
#include "dataset/thrown_test.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;

// Rows of 0, 1, 2, ... elements: [0], [0, 1], ...
Dataset Ragged(std::int64_t rows) {
  return Dataset::Range(0, rows).Map([](const Example& e) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < ValueOf(e); ++i) {
      values.push_back(static_cast<float>(i + 1));
    }
    return Example{{"x", Tensor::FromValues({ValueOf(e)}, values)}};
  });
}

TEST(BatchTest, StacksTheRows) {
  const Dataset dataset = Dataset::FromTensors(
      {{"x", Tensor::FromValues({3, 2}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})},
       {"y", Tensor::FromValues<std::int64_t>({3}, {7, 8, 9})}});
  const auto batches = ReadAll(dataset.Batch(2));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0]["x"], Tensor::FromValues({2, 2}, {1.f, 2.f, 3.f, 4.f}));
  EXPECT_EQ(batches[0]["y"], Tensor::FromValues<std::int64_t>({2}, {7, 8}));
  EXPECT_EQ(batches[1]["x"], Tensor::FromValues({1, 2}, {5.f, 6.f}));
  EXPECT_EQ(dataset.Batch(2).Cardinality(), 2);
}

TEST(BatchTest, CanDropTheRemainder) {
  const Dataset dataset =
      Dataset::Range(0, 5).Batch(2, {.drop_remainder = true});
  EXPECT_EQ(ReadAll(dataset).size(), 2u);
  EXPECT_EQ(dataset.Cardinality(), 2);
}

TEST(BatchTest, OfBatchesHasAnotherAxis) {
  const auto batches = ReadAll(Dataset::Range(0, 4).Batch(2).Batch(2));
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0]["value"],
            Tensor::FromValues<std::int64_t>({2, 2}, {0, 1, 2, 3}));
}

TEST(BatchTest, IsACopy) {
  Tensor x = Tensor::FromValues({1}, {1.0f});
  const auto next = Dataset::FromTensors({{"x", x}}).Batch(1).Open();
  EXPECT_NE((*next())["x"].memory().get(), x.memory().get());
}

TEST(BatchTest, TakesElementsThatWereMadeOneByOne) {
  const Dataset dataset = Dataset::Range(0, 3).Map([](const Example& e) {
    // In an order that depends on the element.
    const Tensor v = Tensor::Scalar(ValueOf(e));
    const Tensor w = Tensor::Scalar(-ValueOf(e));
    return ValueOf(e) % 2 == 0 ? Example{{"v", v}, {"w", w}}
                               : Example{{"w", w}, {"v", v}};
  });
  const auto batches = ReadAll(dataset.Batch(3));
  EXPECT_THAT(Elements<std::int64_t>(batches[0]["v"]), ElementsAre(0, 1, 2));
  EXPECT_THAT(Elements<std::int64_t>(batches[0]["w"]), ElementsAre(0, -1, -2));
}

TEST(BatchTest, NeedsEqualShapes) {
  EXPECT_EQ(Thrown([] { ReadAll(Ragged(3).Batch(3)); }),
            "a batch needs equal shapes: in element 1 of it \"x\" is f32 [1], "
            "in the first f32 [0]; use PaddedBatch (InvalidArgument)");
}

TEST(BatchTest, NeedsTheSameNames) {
  const Dataset dataset = Dataset::Range(0, 1).Concatenate(Dataset::FromTensors(
      {{"other", Tensor::FromValues<std::int64_t>({1}, {1})}}));
  EXPECT_EQ(Thrown([&] { ReadAll(dataset.Batch(2)); }),
            "a batch needs elements of the same names: one has no \"value\", "
            "the first has (InvalidArgument)");
}

TEST(BatchTest, NeedsTheSameNumberOfNames) {
  const Dataset dataset = Dataset::Range(0, 1).Concatenate(Dataset::FromTensors(
      {{"value", Tensor::FromValues<std::int64_t>({1}, {1})},
       {"other", Tensor::FromValues<std::int64_t>({1}, {1})}}));
  EXPECT_EQ(Thrown([&] { ReadAll(dataset.Batch(2)); }),
            "a batch needs elements of the same names: one has 2, the first 1 "
            "(InvalidArgument)");
}

TEST(BatchTest, NeedsAtLeastOne) {
  EXPECT_EQ(Thrown([] { Dataset::Range(0, 1).Batch(0); }),
            "Batch(0): must be at least 1 (InvalidArgument)");
}

TEST(PaddedBatchTest, FillsTheShorterOnes) {
  const auto batches = ReadAll(Ragged(4).PaddedBatch(2));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0]["x"], Tensor::FromValues({2, 1}, {0.f, 1.f}));
  EXPECT_EQ(batches[1]["x"],
            Tensor::FromValues({2, 3}, {1.f, 2.f, 0.f, 1.f, 2.f, 3.f}));
}

TEST(PaddedBatchTest, FillsWithWhatIsAskedFor) {
  const auto batches = ReadAll(Ragged(3).PaddedBatch(
      2, {.padding = {{"x", -1}}, .drop_remainder = true}));
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0]["x"], Tensor::FromValues({2, 1}, {-1.f, 1.f}));
}

TEST(PaddedBatchTest, PadsEveryAxis) {
  const Dataset dataset = Dataset::Range(1, 3).Map([](const Example& e) {
    const std::int64_t n = ValueOf(e);
    Tensor x = Tensor::Uninitialized(DType::kI64, {n, 3 - n});
    for (std::int64_t& value : x.MutableValues<std::int64_t>()) value = n;
    return Example{{"x", x}};
  });
  const auto batches = ReadAll(dataset.PaddedBatch(2, {.padding = {{"x", 9}}}));
  EXPECT_EQ(batches[0]["x"], Tensor::FromValues<std::int64_t>(
                                 {2, 2, 2}, {1, 1, 9, 9, 2, 9, 2, 9}));
}

TEST(PaddedBatchTest, RefusesRanksThatDiffer) {
  const Dataset dataset = Dataset::Range(0, 2).Map([](const Example& e) {
    return Example{{"x", ValueOf(e) == 0 ? Tensor::Zeros(DType::kF32, {})
                                         : Tensor::Zeros(DType::kF32, {1})}};
  });
  EXPECT_EQ(Thrown([&] { ReadAll(dataset.PaddedBatch(2)); }),
            "a padded batch needs equal types and ranks: \"x\" is f32 [1] in "
            "one element, and f32 [] in the first (InvalidArgument)");
}

TEST(PaddedBatchTest, RefusesPaddingThatDoesNotFit) {
  EXPECT_EQ(Thrown([] {
              ReadAll(Dataset::Range(0, 1).PaddedBatch(
                  1, {.padding = {{"value", 0.5}}}));
            }),
            "0.5 is no i64 (InvalidArgument)");
  EXPECT_EQ(Thrown([] {
              ReadAll(Dataset::Range(0, 1).PaddedBatch(
                  1, {.padding = {{"other", 1}}}));
            }),
            "PaddedBatch has a padding for \"other\", which the elements have "
            "not (InvalidArgument)");
}

}  // namespace
}  // namespace capstan
