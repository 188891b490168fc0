// Values that do not fit the body of a message, on their way to a worker and
// back.
#include "coordinator/helpers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;

constexpr std::size_t kLarge = 20'000'000;

// Not the same byte everywhere, so that a piece that is missing shows.
std::string LargeText() {
  std::string text(kLarge, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>('a' + i % 23);
  }
  return text;
}

// The function after a failure.
void ExpectWorks(Job& job, const Function<int, int>& same) {
  EXPECT_EQ(job.coordinator.Schedule(same, 7).Fetch(), 7);
  job.coordinator.Join();
}

Function<int, int> AddSame(Definitions& definitions) {
  return definitions.AddFunction("same", [](int value) { return value; });
}

TEST(LargeValueTest, TextsOf20MegabytesBothWays) {
  Definitions definitions;
  const auto turned = definitions.AddFunction("turned", [](std::string text) {
    return std::string(text.rbegin(), text.rend());
  });
  Job job(definitions, 2, 1);
  const std::string text = LargeText();
  const RemoteValue<std::string> first = job.coordinator.Schedule(turned, text);
  const RemoteValue<std::string> second =
      job.coordinator.Schedule(turned, text);
  // EXPECT_EQ would print them.
  const std::string expected(text.rbegin(), text.rend());
  EXPECT_TRUE(first.Fetch() == expected);
  EXPECT_TRUE(second.Fetch() == expected);
  job.coordinator.Join();
}

TEST(LargeValueTest, ATextBesideTensors) {
  using Pair = std::pair<Tensor, std::string>;
  Definitions definitions;
  const auto same =
      definitions.AddFunction("same", [](Pair pair) { return pair; });
  Job job(definitions, 1, 1);
  const Pair pair(Tensor::FromValues({3}, {1.f, 2.f, 3.f}), LargeText());
  EXPECT_TRUE(job.coordinator.Schedule(same, pair).Fetch() == pair);
  job.coordinator.Join();
}

TEST(LargeValueTest, TheTextOfAnExceptionIsCut) {
  Definitions definitions;
  const auto same = AddSame(definitions);
  const auto fail = definitions.AddFunction(
      "fail", [] { throw Error(ErrorCode::kDataLoss, LargeText()); });
  Job job(definitions, 1, 1);
  const RemoteValue<void> value = job.coordinator.Schedule(fail);
  const Error error = ErrorOf([&] { value.Fetch(); });
  EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
  EXPECT_EQ(error.task(), "worker/0");
  const std::string message(error.message());
  EXPECT_THAT(message.substr(0, 200),
              AllOf(HasSubstr("'fail'"), HasSubstr("abcdefg")));
  EXPECT_GE(message.size(), std::size_t{256} << 10);
  EXPECT_LE(message.size(), std::size_t{257} << 10);
  EXPECT_EQ(ErrorOf([&] { job.coordinator.Join(); }).code(),
            ErrorCode::kDataLoss);
  ExpectWorks(job, same);
}

// Each is an attachment of its own, and so is what says which they are.
std::vector<Tensor> ManyTensors(std::size_t count) {
  return std::vector<Tensor>(count, Tensor::Scalar(1.f));
}

TEST(LargeValueTest, AResultOfTooManyTensorsIsAnErrorThatSaysSo) {
  Definitions definitions;
  const auto same = AddSame(definitions);
  const auto many = definitions.AddFunction(
      "many", [](std::size_t count) { return ManyTensors(count); });
  Job job(definitions, 1, 1);
  EXPECT_EQ(job.coordinator.Schedule(many, 60'000).Fetch().size(), 60'000u);
  const RemoteValue<std::vector<Tensor>> value =
      job.coordinator.Schedule(many, 70'000);
  EXPECT_THAT(ErrorOf([&] { value.Fetch(); }),
              IsError(ErrorCode::kResourceExhausted,
                      AllOf(HasSubstr("'many'"), HasSubstr("70001 attachments"),
                            HasSubstr("65536"))));
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kResourceExhausted));
  ExpectWorks(job, same);
}

TEST(LargeValueTest, AnArgumentOfTooManyTensorsIsAnErrorThatSaysSo) {
  Definitions definitions;
  const auto same = AddSame(definitions);
  const auto count = definitions.AddFunction(
      "count", [](std::vector<Tensor> tensors) { return tensors.size(); });
  Job job(definitions, 1, 1);
  EXPECT_EQ(job.coordinator.Schedule(count, ManyTensors(60'000)).Fetch(),
            60'000u);
  EXPECT_THAT(
      ErrorOf([&] {
        job.coordinator.Schedule(count, ManyTensors(70'000)).Fetch();
      }),
      IsError(ErrorCode::kInvalidArgument,
              AllOf(HasSubstr("'count'"), HasSubstr("70001 attachments"),
                    HasSubstr("65536"))));
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kInvalidArgument));
  ExpectWorks(job, same);
}

}  // namespace
}  // namespace capstan
