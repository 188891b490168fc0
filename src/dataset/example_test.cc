#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/dataset.h"
#include "dataset/read_all_test.h"
#include "dataset/thrown_test.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ExampleTest, GivesItsTensorsByName) {
  const Tensor x = Tensor::FromValues({2}, {1.0f, 2.0f});
  const Example example{{"x", x}, {"y", Tensor::Scalar(std::int64_t{7})}};
  EXPECT_EQ(example.size(), 2u);
  EXPECT_THAT(example.names(), ElementsAre("x", "y"));
  EXPECT_TRUE(example.Contains("y"));
  EXPECT_FALSE(example.Contains("z"));
  EXPECT_EQ(example["x"], x);
  EXPECT_EQ(ValueOf(example, "y"), 7);
}

TEST(ExampleTest, SharesTheMemoryOfItsTensors) {
  const Tensor x = Tensor::FromValues({2}, {1.0f, 2.0f});
  const Example example{{"x", x}};
  EXPECT_EQ(example["x"].memory().get(), x.memory().get());
}

TEST(ExampleTest, ATensorOutlivesItsExample) {
  Tensor x;
  {
    const Example example{{"x", Tensor::FromValues({2}, {1.0f, 2.0f})}};
    x = example["x"];
  }
  EXPECT_THAT(Elements<float>(x), ElementsAre(1, 2));
}

TEST(ExampleTest, MayBeEmpty) {
  EXPECT_EQ(Example().size(), 0u);
  EXPECT_THAT(Example().names(), IsEmpty());
  EXPECT_EQ(Example(), Example());
}

TEST(ExampleTest, AMissingNameIsAnErrorThatNamesTheOthers) {
  const Example example{{"x", Tensor()}, {"y", Tensor()}};
  EXPECT_EQ(Thrown([&] { example["z"]; }),
            "no tensor \"z\" in an example of: \"x\", \"y\" (NotFound)");
}

TEST(ExampleTest, ANameTwiceIsAnError) {
  EXPECT_EQ(Thrown([] {
              Example{{"x", Tensor()}, {"x", Tensor()}};
            }),
            "an example has two tensors \"x\" (InvalidArgument)");
}

TEST(ExampleTest, ComparesNamesAndTensors) {
  EXPECT_EQ(Number(1), Number(1));
  EXPECT_NE(Number(1), Number(2));
  EXPECT_NE(Number(1), Example());
  EXPECT_NE(Number(1), (Example{{"other", Tensor::Scalar(std::int64_t{1})}}));
}

}  // namespace
}  // namespace capstan
