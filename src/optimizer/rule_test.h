// What the test of each optimizer is made of: arrays to update, and the
// comparison with an oracle, one element at a time in double. Test-only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "capstan/optimizer.h"
#include "capstan/tensor.h"
#include "optimizer/updater.h"

namespace capstan::testing {

inline constexpr DType kGradientDTypes[] = {DType::kF32, DType::kF16,
                                            DType::kBF16};

// The updater of a valid optimizer.
std::unique_ptr<const Updater> MakeUpdater(const Optimizer& optimizer);

// Calls `test` once for each instruction set that this machine has and the
// kernels were compiled for, each in force while it runs. Not thread-safe.
void ForEachTarget(const std::function<void(const std::string& name)>& test);

// Numbers of absolute value between low and high, of either sign.
std::vector<float> RandomNumbers(Random& random, size_t size, double low,
                                 double high);

// `values` as elements of a dtype: f32, f16 or bf16.
std::vector<std::byte> Encode(DType dtype, const std::vector<float>& values);
// What Encode keeps of `values`.
std::vector<float> Rounded(DType dtype, std::vector<float> values);

// A value and its slots, in memory that begins `misalignment` floats after a
// cache line, each array between two floats that must not change.
class Arrays {
 public:
  Arrays(size_t num_slots, size_t size, size_t misalignment = 0);
  // Random contents in which no rule cancels digits: values of about 1, slots
  // positive and of about 1 if they hold squares or sizes, else smaller.
  static Arrays Random(const Updater& updater, size_t size, uint64_t seed,
                       size_t misalignment = 0);
  // The same contents elsewhere.
  Arrays Copy(size_t misalignment) const;

  size_t num_slots() const { return memory_.size() - 1; }
  size_t size() const { return size_; }
  float* value() { return array(0); }
  const float* value() const { return array(0); }
  float* slot(size_t s) { return array(s + 1); }
  const float* slot(size_t s) const { return array(s + 1); }

  // Whether the floats around the arrays are as they were.
  bool GuardsHold() const;

 private:
  float* array(size_t a) { return memory_[a].data() + start_[a]; }
  const float* array(size_t a) const { return memory_[a].data() + start_[a]; }

  size_t size_;
  std::vector<std::vector<float>> memory_;
  std::vector<size_t> start_;
};

// Fails the test unless values and slots are the same bit by bit.
void ExpectSame(const Arrays& actual, const Arrays& expected);

// A dense update of [begin, end) of `in` to `out`, with the gradient of these
// elements at the same place of `gradient`.
DenseUpdate UpdateOf(const Arrays& in, Arrays& out, DType dtype,
                     const std::vector<std::byte>& gradient, size_t begin,
                     size_t end);
// Of all elements, in place.
DenseUpdate UpdateOf(Arrays& arrays, DType dtype,
                     const std::vector<std::byte>& gradient);

// One element by a rule's formula: the state after update `t`, counted from 1.
struct Element {
  double value = 0;
  std::array<double, kMaxSlots> slots{};
};
using Oracle = std::function<void(double t, double gradient, Element&)>;

// Compares one update with the oracle, over sizes around those of vectors,
// misalignments, dtypes of gradients, and with all that can happen to a
// gradient before. The error may be that of `roundings` roundings of the
// largest number on the way to a result.
void ExpectUpdates(const Optimizer& optimizer, const Oracle& oracle,
                   int roundings);

// Compares a hundred updates by random gradients with the oracle: the relative
// error must be at most 1e-5.
void ExpectFollows(const Optimizer& optimizer, const Oracle& oracle);

}  // namespace capstan::testing
