// What holds for every rule: the same result bit for bit, however an update is
// split, laid out and dispatched.
#include "optimizer/updater.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "optimizer/row_set.h"
#include "optimizer/rule_test.h"
#include "testing/status_matchers.h"

namespace capstan::testing {
namespace {

struct NamedOptimizer {
  std::string name;
  Optimizer optimizer;
};

void PrintTo(const NamedOptimizer& named, std::ostream* out) {
  *out << named.name;
}

// With every step of GradientSteps turned on.
std::vector<NamedOptimizer> AllRules() {
  std::vector<NamedOptimizer> all = {
      {"Sgd", Sgd{}},
      {"Momentum", Momentum{}},
      {"Nesterov", Momentum{.nesterov = true}},
      {"Adagrad", Adagrad{}},
      {"Adadelta", Adadelta{}},
      {"RmsProp", RmsProp{}},
      {"RmsPropMomentum", RmsProp{.momentum = 0.9}},
      {"RmsPropCentered", RmsProp{.centered = true}},
      {"RmsPropCenteredMomentum", RmsProp{.momentum = 0.9, .centered = true}},
      {"Adam", Adam{}},
      {"Amsgrad", Adam{.amsgrad = true}},
      {"AdamW", AdamW{}},
      {"AdamWAmsgrad", AdamW{.amsgrad = true}},
      {"Adamax", Adamax{}},
      {"Nadam", Nadam{}},
      {"Ftrl", Ftrl{.l1 = 0.01, .l2 = 0.01, .l2_shrinkage = 0.01}},
      {"FtrlPowerZero", Ftrl{.learning_rate_power = 0}},
      {"FtrlAnyPower", Ftrl{.learning_rate_power = -0.7}}};
  for (NamedOptimizer& named : all) {
    named.optimizer.clip_value = 0.8;
    named.optimizer.weight_decay = 0.01;
  }
  return all;
}

class EveryRule : public ::testing::TestWithParam<NamedOptimizer> {
 protected:
  EveryRule() : updater_(MakeUpdater(GetParam().optimizer)) {
    updater_->Advance(state_);
  }

  UpdateStep Begin() const { return updater_->Begin(state_, 0.9, 0); }

  Arrays RandomArrays(size_t size) const {
    return Arrays::Random(*updater_, size, 17);
  }

  static std::vector<std::byte> Gradient(DType dtype, size_t size) {
    Random random(size);
    return Encode(dtype, RandomNumbers(random, size, 0, 1));
  }

  // `arrays` after a full update in place.
  Arrays Updated(const Arrays& arrays, DType dtype,
                 const std::vector<std::byte>& gradient) const {
    Arrays after = arrays.Copy(0);
    updater_->Dense(Begin(), UpdateOf(after, dtype, gradient));
    return after;
  }

  // Updates `count` rows of a table in random order, and compares the whole
  // table with dense updates of those rows.
  void ExpectRowsAreDense(DType dtype, size_t row_size, size_t count) const;

  std::unique_ptr<const Updater> updater_;
  OptimizerState state_;
};

INSTANTIATE_TEST_SUITE_P(Rules, EveryRule, ::testing::ValuesIn(AllRules()),
                         [](const auto& rule) { return rule.param.name; });

TEST_P(EveryRule, PiecesAreTheWhole) {
  constexpr size_t kSize = 3001;
  for (DType dtype : kGradientDTypes) {
    const auto gradient = Gradient(dtype, kSize);
    const Arrays before = RandomArrays(kSize);
    const Arrays whole = Updated(before, dtype, gradient);
    Random random(1);
    for (int round = 0; round < 20; ++round) {
      std::vector<size_t> cuts = {0, kSize};
      for (int i = 0; i < 9; ++i) cuts.push_back(random.Below(kSize));
      std::ranges::sort(cuts);
      Arrays pieces = before.Copy(0);
      for (size_t i = cuts.size() - 1; i > 0; --i) {
        updater_->Dense(Begin(), UpdateOf(pieces, pieces, dtype, gradient,
                                          cuts[i - 1], cuts[i]));
      }
      ExpectSame(pieces, whole);
    }
  }
}

TEST_P(EveryRule, EveryElementAloneIsTheWhole) {
  constexpr size_t kSize = 100;
  const auto gradient = Gradient(DType::kF32, kSize);
  const Arrays before = RandomArrays(kSize);
  Arrays pieces = before.Copy(0);
  for (size_t i = 0; i < kSize; ++i) {
    updater_->Dense(Begin(),
                    UpdateOf(pieces, pieces, DType::kF32, gradient, i, i + 1));
  }
  ExpectSame(pieces, Updated(before, DType::kF32, gradient));
}

TEST_P(EveryRule, AlignmentDoesNotMatter) {
  constexpr size_t kSize = 200;
  const auto gradient = Gradient(DType::kF32, kSize);
  const Arrays before = RandomArrays(kSize);
  const Arrays expected = Updated(before, DType::kF32, gradient);
  for (size_t misalignment = 0; misalignment < 16; ++misalignment) {
    Arrays actual = before.Copy(misalignment);
    updater_->Dense(Begin(), UpdateOf(actual, DType::kF32, gradient));
    ExpectSame(actual, expected);
    EXPECT_TRUE(actual.GuardsHold());
  }
}

// One small size, and one large enough that results bypass the caches.
TEST_P(EveryRule, InPlaceIsOutOfPlace) {
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    for (size_t size : {100u, 40'003u}) {
      const auto gradient = Gradient(dtype, size);
      const Arrays before = RandomArrays(size);
      const Arrays expected = Updated(before, dtype, gradient);
      for (size_t misalignment : {0, 1, 5, 15}) {
        const Arrays in = before.Copy(0);
        Arrays out(in.num_slots(), size, misalignment);
        updater_->Dense(Begin(), UpdateOf(in, out, dtype, gradient, 0, size));
        ExpectSame(out, expected);
        ExpectSame(in, before);
        EXPECT_TRUE(out.GuardsHold());
      }
    }
  }
}

// Either the value is copied and the slots are updated in place, or the
// reverse.
TEST_P(EveryRule, SomeInPlaceIsAllInPlace) {
  constexpr size_t kSize = 40'003;
  const auto gradient = Gradient(DType::kF32, kSize);
  const Arrays before = RandomArrays(kSize);
  const Arrays expected = Updated(before, DType::kF32, gradient);
  for (bool value_in_place : {false, true}) {
    Arrays in = before.Copy(3);
    Arrays out = before.Copy(3);
    DenseUpdate update = UpdateOf(in, out, DType::kF32, gradient, 0, kSize);
    if (value_in_place) {
      update.value_in = out.value();
    } else {
      for (size_t s = 0; s < in.num_slots(); ++s) {
        update.slots_in[s] = out.slot(s);
      }
    }
    updater_->Dense(Begin(), update);
    ExpectSame(out, expected);
  }
}

void EveryRule::ExpectRowsAreDense(DType dtype, size_t row_size,
                                   size_t count) const {
  constexpr size_t kRows = 200;
  const Arrays before = RandomArrays(kRows * row_size);
  std::vector<uint32_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0u);
  Random random(row_size);
  for (size_t i = 0; i < count; ++i) {
    std::swap(rows[i], rows[i + random.Below(kRows - i)]);
  }
  rows.resize(count);
  const auto gradients = Gradient(dtype, count * row_size);

  Arrays actual = before.Copy(1);
  RowsUpdate update = {.gradient_dtype = dtype,
                       .gradients = gradients.data(),
                       .rows = rows,
                       .row_size = row_size,
                       .num_rows = kRows,
                       .values = actual.value()};
  for (size_t s = 0; s < actual.num_slots(); ++s) {
    update.slots[s] = actual.slot(s);
  }
  updater_->Rows(Begin(), update);
  EXPECT_TRUE(actual.GuardsHold());

  Arrays expected = before.Copy(0);
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = rows[i] * row_size;
    DenseUpdate row =
        UpdateOf(expected, expected, dtype, gradients, begin, begin + row_size);
    row.gradient = gradients.data() + i * row_size * SizeOf(dtype);
    updater_->Dense(Begin(), row);
  }
  ExpectSame(actual, expected);
}

TEST_P(EveryRule, RowsAreDense) {
  for (DType dtype : kGradientDTypes) {
    for (size_t row_size : {1, 2, 3, 4, 8, 10, 16, 17, 32, 64, 100, 256, 300}) {
      for (size_t count : {0, 1, 2, 150}) {
        SCOPED_TRACE(std::string(NameOf(dtype)) + ", rows of " +
                     std::to_string(row_size) + ": " + std::to_string(count));
        ExpectRowsAreDense(dtype, row_size, count);
      }
    }
  }
}

TEST_P(EveryRule, RowsOfNothingAreNothing) {
  const std::vector<uint32_t> rows = {0, 1};
  updater_->Rows(Begin(), {.rows = rows, .row_size = 0, .num_rows = 2});
}

TEST_P(EveryRule, EveryTargetGivesTheSame) {
  constexpr size_t kSize = 1001;
  const auto gradient = Gradient(DType::kF16, kSize);
  const Arrays before = RandomArrays(kSize);
  const Arrays expected = Updated(before, DType::kF16, gradient);
  size_t targets = 0;
  ForEachTarget([&](const std::string&) {
    ++targets;
    ExpectSame(Updated(before, DType::kF16, gradient), expected);
    ExpectRowsAreDense(DType::kBF16, 16, 100);
    ExpectRowsAreDense(DType::kF32, 7, 100);
  });
  EXPECT_GE(targets, 1u);
}

TEST_P(EveryRule, ANanGetsThrough) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Arrays arrays = RandomArrays(20);
  std::vector<float> gradient(20, 0.5f);
  gradient[3] = nan;
  updater_->Dense(Begin(),
                  UpdateOf(arrays, DType::kF32, Encode(DType::kF32, gradient)));
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(std::isnan(arrays.value()[i]), i == 3) << i;
  }
}

// Decaying moments must not end as subnormals: see flush_subnormals.h.
TEST_P(EveryRule, SubnormalsAreNotKept) {
  Arrays arrays = RandomArrays(20);
  for (size_t s = 0; s < arrays.num_slots(); ++s) {
    std::fill_n(arrays.slot(s), 20, std::numeric_limits<float>::denorm_min());
  }
  const auto gradient = Encode(DType::kF32, std::vector<float>(20));
  Optimizer optimizer = GetParam().optimizer;
  optimizer.weight_decay = 0;
  const auto updater = MakeUpdater(optimizer);
  for (int t = 0; t < 3; ++t) {
    updater->Dense(Begin(), UpdateOf(arrays, DType::kF32, gradient));
  }
  for (size_t s = 0; s < arrays.num_slots(); ++s) {
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_FALSE(std::fpclassify(arrays.slot(s)[i]) == FP_SUBNORMAL);
    }
  }
}

TEST_P(EveryRule, CountsItsUpdates) {
  EXPECT_EQ(state_.updates, 1u);
  updater_->Advance(state_);
  EXPECT_EQ(state_.updates, 2u);
  EXPECT_LE(updater_->slots().size(), kMaxSlots);
}

TEST(UpdaterTest, RefusesWhatIsNotValid) {
  EXPECT_THAT(Updater::Make(Adam{.beta1 = 1}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("beta1 is 1")));
}

// The value of one element, initially 0, after the next update in `state`.
float AfterOne(const Optimizer& optimizer, const OptimizerState& state,
               double gradient_scale, uint64_t staleness) {
  const auto updater = MakeUpdater(optimizer);
  Arrays arrays(0, 1);
  *arrays.value() = 0;
  updater->Dense(updater->Begin(state, gradient_scale, staleness),
                 UpdateOf(arrays, DType::kF32, Encode(DType::kF32, {1})));
  return *arrays.value();
}

TEST(UpdaterTest, FollowsTheSchedule) {
  const Sgd rule = {.learning_rate =
                        PiecewiseConstant{.boundaries = {4}, .values = {2, 1}}};
  EXPECT_EQ(AfterOne(rule, {.updates = 4}, 1, 0), -2);
  EXPECT_EQ(AfterOne(rule, {.updates = 5}, 1, 0), -1);
}

TEST(UpdaterTest, ScalesTheGradient) {
  EXPECT_EQ(AfterOne(Sgd{.learning_rate = 1.0}, {}, 0.25, 0), -0.25f);
}

TEST(UpdaterTest, StalenessDividesTheRate) {
  Optimizer optimizer = Sgd{.learning_rate = 1.0};
  EXPECT_EQ(AfterOne(optimizer, {}, 1, 3), -1);
  optimizer.staleness_power = 0.5;
  EXPECT_EQ(AfterOne(optimizer, {}, 1, 0), -1);
  EXPECT_EQ(AfterOne(optimizer, {}, 1, 3), -0.5f);
}

TEST(UpdaterTest, ClipsBeforeItDecays) {
  Optimizer optimizer = Sgd{.learning_rate = 1.0};
  optimizer.clip_value = 0.5;
  optimizer.weight_decay = 1;
  const auto updater = MakeUpdater(optimizer);
  Arrays arrays(0, 3);
  std::fill_n(arrays.value(), 3, 4.0f);
  updater->Dense(
      updater->Begin({}, 1, 0),
      UpdateOf(arrays, DType::kF32, Encode(DType::kF32, {9, -9, 0.25})));
  EXPECT_EQ(arrays.value()[0], 4 - (0.5f + 4));
  EXPECT_EQ(arrays.value()[1], 4 - (-0.5f + 4));
  EXPECT_EQ(arrays.value()[2], 4 - (0.25f + 4));
}

// Compares an update by rows with a dense one that has zeroes in the other
// rows.
void ExpectRowsAreExact(const Optimizer& optimizer, size_t num_rows,
                        size_t row_size, const std::vector<uint32_t>& rows) {
  const auto updater = MakeUpdater(optimizer);
  const Arrays before = Arrays::Random(*updater, num_rows * row_size, 1);
  Random random(2);
  const std::vector<float> gradients =
      RandomNumbers(random, rows.size() * row_size, 0, 1);
  std::vector<float> all(num_rows * row_size);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(gradients.begin() + static_cast<ptrdiff_t>(i * row_size),
                row_size,
                all.begin() + static_cast<ptrdiff_t>(rows[i] * row_size));
  }
  const UpdateStep step = updater->Begin({.updates = 5}, 0.5, 0);
  Arrays expected = before.Copy(0);
  updater->Dense(step,
                 UpdateOf(expected, DType::kF32, Encode(DType::kF32, all)));

  Arrays actual = before.Copy(1);
  const auto bytes = Encode(DType::kF32, gradients);
  RowsUpdate update = {.gradients = bytes.data(),
                       .rows = rows,
                       .row_size = row_size,
                       .num_rows = num_rows,
                       .values = actual.value()};
  for (size_t s = 0; s < actual.num_slots(); ++s) {
    update.slots[s] = actual.slot(s);
  }
  updater->Rows(step, update);
  ExpectSame(actual, expected);
  EXPECT_TRUE(actual.GuardsHold());
}

std::vector<Optimizer> ExactRules() {
  std::vector<Optimizer> rules = {
      Adam{.row_moments = RowMoments::kExact},
      Adam{.amsgrad = true, .row_moments = RowMoments::kExact},
      AdamW{.row_moments = RowMoments::kExact},
      AdamW{.amsgrad = true, .row_moments = RowMoments::kExact}};
  rules[1].weight_decay = 0.1;
  rules[2].weight_decay = 0.1;
  return rules;
}

TEST(ExactRowsTest, AreADenseUpdate) {
  for (const Optimizer& rule : ExactRules()) {
    for (size_t row_size : {1, 5, 16, 300}) {
      ExpectRowsAreExact(rule, 100, row_size, {});
      ExpectRowsAreExact(rule, 100, row_size, {99, 0, 50, 51, 7});
      std::vector<uint32_t> all(100);
      std::iota(all.rbegin(), all.rend(), 0u);
      ExpectRowsAreExact(rule, 100, row_size, all);
    }
  }
}

// More rows than fit in a RowSet.
TEST(ExactRowsTest, OfALargeTable) {
  constexpr auto kCapacity = static_cast<uint32_t>(RowSet::kCapacity);
  ExpectRowsAreExact(ExactRules()[2], 2 * kCapacity + 100, 2,
                     {2 * kCapacity + 99, kCapacity, kCapacity - 1, 5,
                      2 * kCapacity, 2 * kCapacity - 1});
}

TEST(LazyRowsTest, LeaveTheOthersAlone) {
  const auto updater = MakeUpdater(AdamW{.weight_decay = 0.5});
  Arrays arrays = Arrays::Random(*updater, 100, 1);
  const Arrays before = arrays.Copy(0);
  const std::vector<uint32_t> rows = {3};
  const auto bytes = Encode(DType::kF32, std::vector<float>(10, 1));
  updater->Rows(updater->Begin({}, 1, 0),
                {.gradients = bytes.data(),
                 .rows = rows,
                 .row_size = 10,
                 .num_rows = 10,
                 .values = arrays.value(),
                 .slots = {arrays.slot(0), arrays.slot(1)}});
  for (size_t i = 0; i < 100; ++i) {
    const bool touched = i / 10 == 3;
    EXPECT_EQ(arrays.value()[i] != before.value()[i], touched) << i;
    EXPECT_EQ(arrays.slot(0)[i] != before.slot(0)[i], touched) << i;
  }
}

}  // namespace
}  // namespace capstan::testing
