// What functions take and return, on its way to a worker and back.
#include <limits>
#include <numeric>

#include "coordinator/helpers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;

// `values`, each sent to a worker and back.
template <typename T>
void ExpectSame(const std::vector<T>& values) {
  Definitions definitions;
  const auto same =
      definitions.AddFunction("same", [](T value) { return value; });
  Job job(definitions, 1, 1);
  std::vector<RemoteValue<T>> sent;
  for (const T& value : values) {
    sent.push_back(job.coordinator.Schedule(same, value));
  }
  const std::vector<T> back = job.coordinator.Fetch(sent);
  EXPECT_EQ(back, values) << same.signature();
}

template <typename T>
std::vector<T> Edges() {
  using Limits = std::numeric_limits<T>;
  return {Limits::lowest(), Limits::max(), Limits::min(), T{0}, T{1}};
}

TEST(ValueTest, NumbersOfEveryType) {
  ExpectSame<bool>({true, false});
  ExpectSame(Edges<std::int8_t>());
  ExpectSame(Edges<std::uint8_t>());
  ExpectSame(Edges<std::int16_t>());
  ExpectSame(Edges<std::uint16_t>());
  ExpectSame(Edges<std::int32_t>());
  ExpectSame(Edges<std::uint32_t>());
  ExpectSame(Edges<std::int64_t>());
  ExpectSame(Edges<std::uint64_t>());
  ExpectSame(Edges<long long>());
  ExpectSame(Edges<float>());
  ExpectSame(Edges<double>());
  ExpectSame<double>({std::numeric_limits<double>::infinity(), -0.0,
                      std::numeric_limits<double>::denorm_min()});
}

TEST(ValueTest, Texts) {
  ExpectSame<std::string>(
      {"", "text", std::string("\0in\0side\0", 9), std::string(100'000, 'x')});
}

TEST(ValueTest, ContainersOfContainers) {
  using Deep =
      std::map<std::string,
               std::vector<std::optional<std::tuple<int, std::pair<bool, float>,
                                                    std::vector<bool>>>>>;
  ExpectSame<Deep>(
      {{},
       {{"", {}}, {"none", {std::nullopt}}},
       {{"some",
         {std::tuple(1, std::pair(true, 0.5f), std::vector<bool>{}),
          std::nullopt,
          std::tuple(-1, std::pair(false, -0.5f),
                     std::vector<bool>{true, false})}}}});
  ExpectSame<std::tuple<>>({{}});
  ExpectSame<std::vector<std::tuple<>>>({{}, std::vector<std::tuple<>>(3)});
  ExpectSame<std::map<int, std::map<int, int>>>({{{1, {{2, 3}}}, {2, {}}}});
  std::vector<std::int64_t> many(50'000);
  std::iota(many.begin(), many.end(), -25'000);
  ExpectSame<std::vector<std::int64_t>>({many});
}

TEST(ValueTest, Ranges) {
  ExpectSame<DataRange>({{.begin = 5, .end = 9, .epoch = 3, .index = 8}, {}});
}

TEST(ValueTest, TensorsOfEveryTypeAndShape) {
  std::vector<Tensor> tensors;
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32,
        DType::kI64, DType::kU8, DType::kBool}) {
    for (const Shape& shape : {Shape(), Shape({1}), Shape({3, 5}),
                               Shape({1, 2, 1, 2, 1, 2, 1, 2})}) {
      Tensor tensor = Tensor::Zeros(dtype, shape);
      std::byte next{0};
      for (std::byte& byte : tensor.mutable_view().mutable_bytes()) {
        byte = dtype == DType::kBool ? next & std::byte{1} : next;
        next = static_cast<std::byte>(static_cast<int>(next) + 1);
      }
      tensors.push_back(tensor);
    }
  }
  ExpectSame(tensors);
  ExpectSame<std::vector<Tensor>>({tensors, {}});
}

TEST(ValueTest, TensorsWithoutElements) {
  std::vector<Tensor> tensors = {Tensor()};
  for (const Shape& shape : {Shape({0}), Shape({0, 5}), Shape({3, 0, 2})}) {
    tensors.push_back(Tensor::Zeros(DType::kF64, shape));
    tensors.push_back(Tensor(DType::kI32, shape, nullptr));
  }
  ExpectSame(tensors);
  // Between others, so that nothing slips.
  ExpectSame<std::vector<Tensor>>(
      {{Tensor::Scalar(1.f), tensors[1], Tensor::Scalar(2.f), tensors[3]}});
}

TEST(ValueTest, Rows) {
  Definitions definitions;
  const auto same =
      definitions.AddFunction("same", [](class Rows rows) { return rows; });
  Job job(definitions, 1, 1);
  const auto check = [&](const class Rows& rows) {
    const class Rows back = job.coordinator.Schedule(same, rows).Fetch();
    EXPECT_EQ(back.ids, rows.ids);
    EXPECT_EQ(back.values, rows.values);
  };
  check({Tensor::FromValues({2}, {std::int64_t{5}, std::int64_t{-1}}),
         Tensor::FromValues({2, 2}, {1.f, 2.f, 3.f, 4.f})});
  check({Tensor::Zeros(DType::kI64, {0}), Tensor::Zeros(DType::kF32, {0, 7})});
  EXPECT_THAT(ErrorOf([&] {
                check({Tensor::Zeros(DType::kI32, {1}),
                       Tensor::Zeros(DType::kF32, {1})});
              }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("i64")));
  EXPECT_THAT(ErrorOf([&] {
                check({Tensor::Zeros(DType::kI64, {2}),
                       Tensor::Zeros(DType::kF32, {3, 1})});
              }),
              IsError(ErrorCode::kInvalidArgument, HasSubstr("2 ids")));
  job.coordinator.Join();
}

TEST(ValueTest, LargeTensorsBothWays) {
  constexpr std::int64_t kFloats = (8 << 20) / sizeof(float);
  Definitions definitions;
  const auto doubled =
      definitions.AddFunction("doubled", [](Tensor tensor, float by) {
        const auto from = tensor.Values<float>();
        Tensor result = Tensor::Uninitialized(DType::kF32, tensor.shape());
        const auto to = result.MutableValues<float>();
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = by * from[i];
        return std::make_pair(tensor, result);
      });
  Job job(definitions, 2, 1);
  Tensor tensor = Tensor::Uninitialized(DType::kF32, {kFloats});
  std::iota(tensor.MutableValues<float>().begin(),
            tensor.MutableValues<float>().end(), 0.0f);
  std::vector<RemoteValue<std::pair<Tensor, Tensor>>> values;
  for (int i = 1; i <= 4; ++i) {
    values.push_back(
        job.coordinator.Schedule(doubled, tensor, static_cast<float>(i)));
  }
  job.coordinator.Join();
  for (int i = 1; i <= 4; ++i) {
    const auto [same, result] = values[static_cast<std::size_t>(i) - 1].Fetch();
    EXPECT_EQ(same, tensor);
    const auto floats = result.Values<float>();
    EXPECT_EQ(floats[1], static_cast<float>(i));
    EXPECT_EQ(floats.back(),
              static_cast<float>(i) * tensor.Values<float>().back());
  }
}

// Tensors of odd sizes push those after them off their alignment on the wire.
TEST(ValueTest, TensorsAreAlignedWhereverTheyCome) {
  using Odd = std::tuple<Tensor, Tensor, std::string, Tensor, Tensor>;
  const auto make = [] {
    return Odd{Tensor::FromValues(
                   {3}, {std::uint8_t{1}, std::uint8_t{2}, std::uint8_t{3}}),
               Tensor::FromValues({2}, {0.5, -0.5}), "odd",
               Tensor::FromValues({1}, {true}),
               Tensor::FromValues({3}, {1.f, 2.f, 3.f})};
  };
  Definitions definitions;
  const auto use = definitions.AddFunction("use", [](Odd odd) {
    // Values throws if they are not aligned.
    EXPECT_EQ(std::get<1>(odd).Values<double>()[1], -0.5);
    EXPECT_EQ(std::get<4>(odd).Values<float>()[2], 3.f);
    return odd;
  });
  Job job(definitions, 1, 1);
  const Odd odd = job.coordinator.Schedule(use, make()).Fetch();
  EXPECT_EQ(odd, make());
  EXPECT_EQ(std::get<1>(odd).Values<double>()[0], 0.5);
  EXPECT_TRUE(std::get<3>(odd).Values<bool>()[0]);
  EXPECT_EQ(std::get<4>(odd).Values<float>()[0], 1.f);
}

// On memory of the program's that is aligned to nothing.
TEST(ValueTest, UnalignedTensorsAreSentAndReturned) {
  const auto unaligned = [](std::int64_t size) {
    const auto memory = std::make_shared<std::vector<std::byte>>(
        static_cast<std::size_t>(4 * size + 1), std::byte{3});
    return Tensor(DType::kF32, {size},
                  std::shared_ptr<void>(memory, memory->data() + 1));
  };
  Definitions definitions;
  const auto same = definitions.AddFunction("same", [&](Tensor tensor) {
    EXPECT_EQ(tensor, unaligned(5));
    tensor.Values<float>();
    return unaligned(1000);
  });
  Job job(definitions, 1, 1);
  const Tensor back = job.coordinator.Schedule(same, unaligned(5)).Fetch();
  EXPECT_EQ(back, unaligned(1000));
  EXPECT_EQ(back.Values<float>().size(), 1000u);
}

TEST(ValueTest, ArgumentsAreConvertedAsInCpp) {
  Definitions definitions;
  const auto add = definitions.AddFunction(
      "add", [](double a, std::string b, std::optional<int> c) {
        return b + std::to_string(a + c.value_or(0));
      });
  Job job(definitions, 1, 1);
  EXPECT_EQ(job.coordinator.Schedule(add, 1, "text", 2).Fetch(),
            "text3.000000");
  EXPECT_EQ(job.coordinator.Schedule(add, 1.5f, "", std::nullopt).Fetch(),
            "1.500000");
}

TEST(ValueTest, ConstReferencesAreTakenByValue) {
  Definitions definitions;
  const auto size = definitions.AddFunction(
      "size", [](WorkerContext&, const std::string& a,
                 const std::vector<int>& b) { return a.size() + b.size(); });
  EXPECT_EQ(size.signature(), "u64(text, list<i32>)");
  Job job(definitions, 1, 1);
  EXPECT_EQ(
      job.coordinator.Schedule(size, "four", std::vector<int>{1, 2}).Fetch(),
      6u);
}

TEST(ResultLimitTest, AResultAboveTheLimitIsAnErrorThatNamesIt) {
  Definitions definitions;
  const auto make = definitions.AddFunction("make", [](std::int64_t bytes) {
    return Tensor::Zeros(DType::kU8, {bytes});
  });
  CoordinatorOptions options;
  options.max_result_bytes = 1 << 20;
  Job job(definitions, 2, 1, options);
  EXPECT_EQ(job.coordinator.Schedule(make, 1 << 20).Fetch(),
            Tensor::Zeros(DType::kU8, {1 << 20}));
  const RemoteValue<Tensor> value =
      job.coordinator.Schedule(make, (1 << 20) + 1);
  EXPECT_THAT(ErrorOf([&] { value.Fetch(); }),
              IsError(ErrorCode::kResourceExhausted,
                      AllOf(HasSubstr("'make'"), HasSubstr("1048576"))));
  EXPECT_THAT(ErrorOf([&] { job.coordinator.Join(); }),
              IsError(ErrorCode::kResourceExhausted));
  EXPECT_EQ(job.coordinator.Schedule(make, 10).Fetch(),
            Tensor::Zeros(DType::kU8, {10}));
  EXPECT_EQ(job.coordinator.Status().retries, 0u);
}

}  // namespace
}  // namespace capstan
