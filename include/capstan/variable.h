// Variables: named tensors that live on the parameter servers.
//
//   VariableSpec table{.name = "embedding", .shape = {1'000'000, 16},
//                      .initializer = Uniform{-0.05, 0.05},
//                      .optimizer = Adagrad{.learning_rate = 0.05}};
//
// All types are plain values; they are checked when a variable is created,
// which throws kInvalidArgument naming the variable and the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "capstan/optimizer.h"
#include "capstan/tensor.h"

namespace capstan {

// Initializers: the value of an element is a function of the seed and of its
// position in the whole variable, so it does not depend on how the variable is
// cut. They run on the servers. Without a seed, one is derived from the name of
// the variable, so that two variables differ and every run is the same.

struct Zeros {};
struct Ones {};
struct Constant {
  double value = 0;
};
// In [min, max).
struct Uniform {
  double min = -0.05;
  double max = 0.05;
  std::optional<std::uint64_t> seed = std::nullopt;
};
struct Normal {
  double mean = 0;
  double stddev = 0.05;
  std::optional<std::uint64_t> seed = std::nullopt;
};
// Normal, redrawn while more than two standard deviations from the mean.
struct TruncatedNormal {
  double mean = 0;
  double stddev = 0.05;
  std::optional<std::uint64_t> seed = std::nullopt;
};
// With variance 1 / fan_average (Glorot) or 2 / fan_in (He). The fans are those
// of Keras: for a matrix, its rows and columns; for a convolution kernel, the
// last two axes times the others. The normal forms are truncated.
struct GlorotUniform {
  std::optional<std::uint64_t> seed = std::nullopt;
};
struct GlorotNormal {
  std::optional<std::uint64_t> seed = std::nullopt;
};
struct HeUniform {
  std::optional<std::uint64_t> seed = std::nullopt;
};
struct HeNormal {
  std::optional<std::uint64_t> seed = std::nullopt;
};
// A matrix with orthonormal rows or columns, times `gain`. It needs the whole
// variable at once, so there is only one shard.
struct Orthogonal {
  double gain = 1;
  std::optional<std::uint64_t> seed = std::nullopt;
};
// No initial value: the variable cannot be read until all of it is assigned.
struct Unset {};

using Initializer = std::variant<Zeros, Ones, Constant, Uniform, Normal,
                                 TruncatedNormal, GlorotUniform, GlorotNormal,
                                 HeUniform, HeNormal, Orthogonal, Unset>;

// How the contributions of replicas to one synchronous update are combined.
enum class Aggregation : std::uint8_t {
  kMean = 0,
  kSum = 1,
  kOnlyFirstReplica = 2,
};

// When a gradient takes effect. docs/consistency.md says what each mode
// promises.
struct Async {};  // when it arrives
// When those of all `replicas` have arrived, as one update; `backup` additional
// workers run, and the last gradients of a round are dropped.
struct Sync {
  int replicas = 1;
  int backup = 0;
};
// When it arrives; but a worker at clock c sees all updates of clocks up to c -
// bound - 1, and waits for them if necessary. Each clock has one update from
// each of `replicas`.
struct BoundedStaleness {
  int replicas = 1;
  int bound = 0;
};
using UpdateMode = std::variant<Async, Sync, BoundedStaleness>;

// What an update does to the values. The numbers are on the wire.
enum class Operation : std::uint8_t {
  kGradient = 0,  // by the variable's optimizer
  kSet = 1,
  kAdd = 2,
  kSub = 3,
  kMul = 4,
  kDiv = 5,
  kMin = 6,
  kMax = 7,
};

// What happens to an update that contains a NaN or an infinity.
enum class NonFinite : std::uint8_t {
  kRefuse = 0,  // an error; nothing is changed
  kSkip = 1,    // nothing is changed, and the update is counted
  kAccept = 2,  // it is applied
};

struct VariableSpec {
  std::string name;
  Shape shape;
  DType dtype = DType::kF32;
  Initializer initializer = Zeros{};
  // Without one, gradients are refused; assignments work.
  std::optional<Optimizer> optimizer = std::nullopt;
  Aggregation aggregation = Aggregation::kMean;
  bool trainable = true;
  UpdateMode update = Async{};
  NonFinite non_finite = NonFinite::kRefuse;
  // The name of a variable on whose server this one is placed, in one piece.
  std::string colocate_with = {};
};

// A change of one variable: of all of it, or of the rows `ids` (i64, rank 1),
// in which case row i of `values` belongs to row ids[i].
struct VariableUpdate {
  std::string variable = {};
  Tensor values = {};
  std::optional<Tensor> ids = std::nullopt;
};

// The outcome of an update, counted by shards.
struct UpdateResult {
  std::uint64_t applied = 0;
  // Applied by an earlier run of this step.
  std::uint64_t already_applied = 0;
  std::uint64_t staged = 0;   // synchronous: takes effect with its round
  std::uint64_t skipped = 0;  // not finite, and NonFinite is kSkip
  std::uint64_t dropped = 0;  // synchronous: the round ended without it
};

}  // namespace capstan
