#include "optimizer/rule_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "hwy/targets.h"
#include "testing/status_matchers.h"

namespace capstan::testing {
namespace {

constexpr float kGuard = 12345.0f;

bool HoldsSquares(std::string_view name) {
  return name == "accumulator" || name == "mean_square" ||
         name == "mean_change" || name == "v" || name == "v_max" || name == "u";
}

size_t CountDifferent(const float* a, const float* b, size_t size) {
  size_t count = 0;
  for (size_t i = 0; i < size; ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i])) ++count;
  }
  return count;
}

// What happens to a gradient before the rule sees it.
struct Before {
  double scale = 1;
  double clip_value = 0;
  double weight_decay = 0;

  double operator()(double gradient, double value) const {
    gradient *= scale;
    if (clip_value > 0) {
      gradient = std::clamp(gradient, -clip_value, clip_value);
    }
    return gradient + weight_decay * value;
  }
};

struct Case {
  Before before;
  DType dtype = DType::kF32;
  size_t size = 0;
  size_t misalignment = 0;
};

Element ElementAt(const Arrays& arrays, size_t num_slots, size_t i) {
  Element element = {.value = arrays.value()[i]};
  for (size_t s = 0; s < num_slots; ++s) element.slots[s] = arrays.slot(s)[i];
  return element;
}

// Tests the second update, so that t matters.
void ExpectUpdates(const Updater& updater, const Oracle& oracle, int roundings,
                   const Case& c) {
  const size_t num_slots = updater.slots().size();
  Random random(c.size);
  const std::vector<float> gradient =
      Rounded(c.dtype, RandomNumbers(random, c.size, 0.01, 2));
  const Arrays before = Arrays::Random(updater, c.size, 7, c.misalignment);
  Arrays after = before.Copy(c.misalignment);
  OptimizerState state;
  updater.Advance(state);
  const UpdateStep step = updater.Begin(state, c.before.scale, 0);
  const std::vector<std::byte> bytes = Encode(c.dtype, gradient);
  updater.Dense(step, UpdateOf(after, c.dtype, bytes));
  ASSERT_TRUE(after.GuardsHold());
  for (size_t i = 0; i < c.size; ++i) {
    const Element old = ElementAt(before, num_slots, i);
    const double g = c.before(gradient[i], old.value);
    Element expected = old;
    oracle(2, g, expected);
    const Element actual = ElementAt(after, num_slots, i);
    // Half a unit in the last place is 2^-24, relative to the number.
    const double error = roundings * std::ldexp(1.0, -24);
    ASSERT_NEAR(actual.value, expected.value,
                error * (std::fabs(old.value) + std::fabs(expected.value)))
        << "element " << i << " of " << c.size;
    const double largest =
        std::max(1.0, std::fabs(gradient[i]) * std::max(1.0, c.before.scale)) +
        c.before.weight_decay * std::fabs(old.value);
    for (size_t s = 0; s < num_slots; ++s) {
      ASSERT_NEAR(actual.slots[s], expected.slots[s],
                  error * (std::fabs(old.slots[s]) +
                           std::fabs(expected.slots[s]) + largest * largest))
          << "element " << i << " of " << c.size << ", slot " << s;
    }
  }
}

}  // namespace

std::unique_ptr<const Updater> MakeUpdater(const Optimizer& optimizer) {
  auto updater = Updater::Make(optimizer);
  EXPECT_OK(updater);
  return updater.ok() ? *std::move(updater) : nullptr;
}

void ForEachTarget(const std::function<void(const std::string& name)>& test) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const std::string name = hwy::TargetName(target);
    SCOPED_TRACE(name);
    test(name);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::vector<float> RandomNumbers(Random& random, size_t size, double low,
                                 double high) {
  std::vector<float> numbers(size);
  for (float& number : numbers) {
    const double magnitude = low + (high - low) * random.Uniform();
    number = static_cast<float>(random.Chance(0.5) ? magnitude : -magnitude);
  }
  return numbers;
}

std::vector<std::byte> Encode(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * SizeOf(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    const Float16 f16(values[i]);
    const BFloat16 bf16(values[i]);
    const void* from = dtype == DType::kF16 ? static_cast<const void*>(&f16)
                       : dtype == DType::kBF16
                           ? static_cast<const void*>(&bf16)
                           : static_cast<const void*>(&values[i]);
    std::memcpy(bytes.data() + i * SizeOf(dtype), from, SizeOf(dtype));
  }
  return bytes;
}

std::vector<float> Rounded(DType dtype, std::vector<float> values) {
  for (float& value : values) {
    if (dtype == DType::kF16) value = static_cast<float>(Float16(value));
    if (dtype == DType::kBF16) value = static_cast<float>(BFloat16(value));
  }
  return values;
}

Arrays::Arrays(size_t num_slots, size_t size, size_t misalignment)
    : size_(size) {
  constexpr size_t kLine = 64;
  for (size_t a = 0; a < 1 + num_slots; ++a) {
    memory_.emplace_back(size + misalignment + 2 * kLine, kGuard);
    const auto address = reinterpret_cast<uintptr_t>(memory_[a].data());
    start_.push_back((kLine - address % kLine) / sizeof(float) + kLine / 4 +
                     misalignment);
  }
}

Arrays Arrays::Random(const Updater& updater, size_t size, uint64_t seed,
                      size_t misalignment) {
  const size_t num_slots = updater.slots().size();
  Arrays arrays(num_slots, size, misalignment);
  capstan::Random random(seed);
  std::ranges::copy(RandomNumbers(random, size, 0.5, 1.5), arrays.value());
  for (size_t s = 0; s < num_slots; ++s) {
    const bool squares = HoldsSquares(updater.slots()[s].name);
    std::vector<float> numbers = squares
                                     ? RandomNumbers(random, size, 0.5, 1.5)
                                     : RandomNumbers(random, size, 0.1, 0.5);
    for (size_t i = 0; i < size; ++i) {
      arrays.slot(s)[i] = squares ? std::fabs(numbers[i]) : numbers[i];
    }
  }
  return arrays;
}

Arrays Arrays::Copy(size_t misalignment) const {
  Arrays copy(num_slots(), size_, misalignment);
  for (size_t a = 0; a < memory_.size(); ++a) {
    std::copy_n(array(a), size_, copy.array(a));
  }
  return copy;
}

bool Arrays::GuardsHold() const {
  for (size_t a = 0; a < memory_.size(); ++a) {
    const std::vector<float>& memory = memory_[a];
    const size_t end = start_[a] + size_;
    for (size_t i = 0; i < memory.size(); ++i) {
      if ((i < start_[a] || i >= end) && memory[i] != kGuard) return false;
    }
  }
  return true;
}

void ExpectSame(const Arrays& actual, const Arrays& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_EQ(CountDifferent(actual.value(), expected.value(), actual.size()), 0u)
      << "values differ";
  for (size_t s = 0; s < expected.num_slots(); ++s) {
    EXPECT_EQ(CountDifferent(actual.slot(s), expected.slot(s), actual.size()),
              0u)
        << "of slot " << s << " differ";
  }
}

DenseUpdate UpdateOf(const Arrays& in, Arrays& out, DType dtype,
                     const std::vector<std::byte>& gradient, size_t begin,
                     size_t end) {
  DenseUpdate update = {.gradient_dtype = dtype,
                        .gradient = gradient.data() + begin * SizeOf(dtype),
                        .size = end - begin,
                        .value_in = in.value() + begin,
                        .value_out = out.value() + begin};
  for (size_t s = 0; s < in.num_slots(); ++s) {
    update.slots_in[s] = in.slot(s) + begin;
    update.slots_out[s] = out.slot(s) + begin;
  }
  return update;
}

DenseUpdate UpdateOf(Arrays& arrays, DType dtype,
                     const std::vector<std::byte>& gradient) {
  return UpdateOf(arrays, arrays, dtype, gradient, 0, arrays.size());
}

void ExpectUpdates(const Optimizer& optimizer, const Oracle& oracle,
                   int roundings) {
  std::vector<size_t> sizes = {1000, 1003, 2049};
  for (size_t size = 0; size <= 70; ++size) sizes.push_back(size);
  const Before befores[] = {
      {}, {.scale = 0.75, .clip_value = 0.5, .weight_decay = 0.125}};
  for (const Before& before : befores) {
    Optimizer with = optimizer;
    with.clip_value = before.clip_value;
    with.weight_decay = before.weight_decay;
    const auto updater = MakeUpdater(with);
    ASSERT_NE(updater, nullptr);
    for (DType dtype : kGradientDTypes) {
      for (size_t size : sizes) {
        for (size_t misalignment = 0; misalignment < 3; ++misalignment) {
          SCOPED_TRACE(NameOf(dtype));
          ExpectUpdates(*updater, oracle, roundings,
                        {.before = before,
                         .dtype = dtype,
                         .size = size,
                         .misalignment = misalignment});
          if (::testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

void ExpectFollows(const Optimizer& optimizer, const Oracle& oracle) {
  constexpr size_t kSize = 100;
  const auto updater = MakeUpdater(optimizer);
  ASSERT_NE(updater, nullptr);
  const size_t num_slots = updater->slots().size();
  Arrays arrays = Arrays::Random(*updater, kSize, 3);
  for (size_t s = 0; s < num_slots; ++s) {
    std::fill_n(arrays.slot(s), kSize, updater->slots()[s].initial);
  }
  std::vector<Element> expected(kSize);
  for (size_t i = 0; i < kSize; ++i) {
    expected[i] = ElementAt(arrays, num_slots, i);
  }
  OptimizerState state;
  Random random(5);
  for (int t = 1; t <= 100; ++t) {
    const std::vector<float> gradient = RandomNumbers(random, kSize, 0, 1);
    updater->Dense(
        updater->Begin(state, 1, 0),
        UpdateOf(arrays, DType::kF32, Encode(DType::kF32, gradient)));
    updater->Advance(state);
    for (size_t i = 0; i < kSize; ++i) oracle(t, gradient[i], expected[i]);
  }
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < kSize; ++i) {
    difference += std::pow(arrays.value()[i] - expected[i].value, 2);
    norm += std::pow(expected[i].value, 2);
  }
  EXPECT_LE(std::sqrt(difference / norm), 1e-5);
}

}  // namespace capstan::testing
