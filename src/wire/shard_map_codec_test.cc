#include "wire/shard_map_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "tensor/dtype.h"
#include "testing/status_matchers.h"
#include "wire/variable.pb.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// The members of a struct that has N of them; any other number does not
// compile, so this test cannot miss a new one.
template <size_t N, typename T>
auto Tie(const T& value) {
  if constexpr (N == 0) {
    return std::tuple();
  } else if constexpr (N == 1) {
    const auto& [a] = value;
    return std::tie(a);
  } else if constexpr (N == 2) {
    const auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (N == 3) {
    const auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (N == 4) {
    const auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (N == 5) {
    const auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (N == 6) {
    const auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (N == 7) {
    const auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else {
    const auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  }
}

// The number of members of each struct.
template <typename T>
constexpr size_t kMembers = SIZE_MAX;
template <>
constexpr size_t kMembers<Zeros> = 0;
template <>
constexpr size_t kMembers<Ones> = 0;
template <>
constexpr size_t kMembers<Unset> = 0;
template <>
constexpr size_t kMembers<Constant> = 1;
template <>
constexpr size_t kMembers<Uniform> = 3;
template <>
constexpr size_t kMembers<Normal> = 3;
template <>
constexpr size_t kMembers<TruncatedNormal> = 3;
template <>
constexpr size_t kMembers<GlorotUniform> = 1;
template <>
constexpr size_t kMembers<GlorotNormal> = 1;
template <>
constexpr size_t kMembers<HeUniform> = 1;
template <>
constexpr size_t kMembers<HeNormal> = 1;
template <>
constexpr size_t kMembers<Orthogonal> = 2;
template <>
constexpr size_t kMembers<Async> = 0;
template <>
constexpr size_t kMembers<Sync> = 2;
template <>
constexpr size_t kMembers<BoundedStaleness> = 2;
template <>
constexpr size_t kMembers<ExponentialDecay> = 4;
template <>
constexpr size_t kMembers<PolynomialDecay> = 5;
template <>
constexpr size_t kMembers<InverseTimeDecay> = 4;
template <>
constexpr size_t kMembers<PiecewiseConstant> = 2;
template <>
constexpr size_t kMembers<CosineDecay> = 4;
template <>
constexpr size_t kMembers<Sgd> = 1;
template <>
constexpr size_t kMembers<Momentum> = 3;
template <>
constexpr size_t kMembers<Adagrad> = 3;
template <>
constexpr size_t kMembers<Adadelta> = 3;
template <>
constexpr size_t kMembers<RmsProp> = 5;
template <>
constexpr size_t kMembers<Adam> = 6;
template <>
constexpr size_t kMembers<AdamW> = 7;
template <>
constexpr size_t kMembers<Adamax> = 4;
template <>
constexpr size_t kMembers<Nadam> = 5;
template <>
constexpr size_t kMembers<Ftrl> = 7;
template <>
constexpr size_t kMembers<Optimizer> = 6;
template <>
constexpr size_t kMembers<VariableSpec> = 10;

template <typename T>
bool Same(const T& a, const T& b);

template <typename... Ts>
bool SameOf(const std::variant<Ts...>& a, const std::variant<Ts...>& b) {
  return a.index() == b.index() &&
         std::visit(
             [&]<typename T>(const T& x) { return Same(x, std::get<T>(b)); },
             a);
}

template <typename T>
bool SameOf(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || Same(*a, *b));
}

template <typename T>
bool Same(const T& a, const T& b) {
  if constexpr (kMembers<T> != SIZE_MAX) {
    return std::apply(
        [&](const auto&... x) {
          return std::apply(
              [&](const auto&... y) { return (Same(x, y) && ... && true); },
              Tie<kMembers<T>>(b));
        },
        Tie<kMembers<T>>(a));
  } else if constexpr (requires { SameOf(a, b); }) {
    return SameOf(a, b);
  } else {
    return a == b;
  }
}

bool Same(const ShardMap& a, const ShardMap& b) {
  return a.generation() == b.generation() && a.version() == b.version() &&
         a.servers() == b.servers() && a.next_id() == b.next_id() &&
         std::equal(a.left_out().begin(), a.left_out().end(),
                    b.left_out().begin(), b.left_out().end()) &&
         std::equal(a.entries().begin(), a.entries().end(), b.entries().begin(),
                    b.entries().end(),
                    [](const VariableEntry& x, const VariableEntry& y) {
                      return x.id == y.id && x.shards == y.shards &&
                             Same(x.spec, y.spec);
                    });
}

// Makes specs that use everything there is, all valid, no two fields alike.
class SpecMaker {
 public:
  explicit SpecMaker(uint64_t seed) : random_(seed) {}

  ShardMap Map() {
    const auto servers = static_cast<uint32_t>(1 + random_.Below(6));
    ShardMap map = ShardMap::Make(random_.NextU64(), random_.Below(1000),
                                  servers, {}, static_cast<uint32_t>(Steps()))
                       .value();
    std::vector<VariableSpec> specs;
    const size_t count = random_.Below(6);
    for (size_t i = 0; i < count; ++i) {
      specs.push_back(Spec(absl::StrCat("v\xc3\xa4r", i)));
      if (i > 0 && Flip()) specs.back().colocate_with = specs[0].name;
    }
    map = AddVariables(map, std::move(specs), MinSize(64, servers)).value();
    if (servers == 1 || Flip()) return map;
    const auto left_out = static_cast<uint32_t>(random_.Below(servers));
    return PlaceAnew(map, map.generation(), {left_out}).value();
  }

  VariableSpec Spec(std::string name) {
    VariableSpec spec;
    spec.name = std::move(name);
    spec.shape = Shape({Size(), Size()});
    spec.initializer = AnyInitializer();
    if (Flip()) {
      spec.dtype =
          std::array{DType::kF64, DType::kF16, DType::kBF16}[random_.Below(3)];
    } else if (Flip()) {
      spec.optimizer = AnyOptimizer();
    }
    spec.aggregation = static_cast<Aggregation>(random_.Below(3));
    spec.trainable = Flip();
    spec.update = std::array<UpdateMode, 3>{
        Async{}, Sync{Count(), Count()},
        BoundedStaleness{Count(), Count()}}[random_.Below(3)];
    spec.non_finite = static_cast<NonFinite>(random_.Below(3));
    return spec;
  }

 private:
  bool Flip() { return random_.Chance(0.5); }
  double Fraction() {
    return static_cast<double>(1 + random_.Below(1000)) / 1002;
  }
  int Count() { return static_cast<int>(1 + random_.Below(100)); }
  int64_t Size() { return static_cast<int64_t>(1 + random_.Below(50)); }
  int64_t Steps() { return static_cast<int64_t>(1 + random_.Below(1 << 20)); }
  std::optional<uint64_t> Seed() {
    if (Flip()) return std::nullopt;
    return Flip() ? random_.NextU64() : 0;
  }

  Initializer AnyInitializer() {
    return std::array<Initializer, 12>{
        Zeros{},
        Ones{},
        Unset{},
        Constant{Fraction()},
        Uniform{-Fraction(), Fraction(), Seed()},
        Normal{Fraction(), Fraction(), Seed()},
        TruncatedNormal{Fraction(), Fraction(), Seed()},
        GlorotUniform{Seed()},
        GlorotNormal{Seed()},
        HeUniform{Seed()},
        HeNormal{Seed()},
        Orthogonal{Fraction(), Seed()}}[random_.Below(12)];
  }

  LearningRate Rate() {
    return std::array<LearningRate, 6>{
        Fraction(),
        ExponentialDecay{Fraction(), Steps(), Fraction(), Flip()},
        PolynomialDecay{Fraction(), Steps(), Fraction(), Fraction(), Flip()},
        InverseTimeDecay{Fraction(), Steps(), Fraction(), Flip()},
        PiecewiseConstant{{1, 1 + Steps()},
                          {Fraction(), Fraction(), Fraction()}},
        CosineDecay{Fraction(), Steps(), Fraction(),
                    Steps()}}[random_.Below(6)];
  }

  Optimizer AnyOptimizer() {
    const auto moments = Flip() ? RowMoments::kExact : RowMoments::kLazy;
    Optimizer optimizer;
    optimizer.rule = std::array<Optimizer::Rule, 10>{
        Sgd{Rate()},
        Momentum{Rate(), Fraction(), Flip()},
        Adagrad{Rate(), Fraction(), Fraction()},
        Adadelta{Rate(), Fraction(), Fraction()},
        RmsProp{Rate(), Fraction(), Fraction(), Fraction(), Flip()},
        Adam{Rate(), Fraction(), Fraction(), Fraction(), Flip(), moments},
        AdamW{Rate(), Fraction(), Fraction(), Fraction(), Fraction(), Flip(),
              moments},
        Adamax{Rate(), Fraction(), Fraction(), Fraction()},
        Nadam{Rate(), Fraction(), Fraction(), Fraction(), Fraction()},
        Ftrl{Rate(), -Fraction(), Fraction(), Fraction(), Fraction(),
             Fraction(), Fraction()}}[random_.Below(10)];
    optimizer.weight_decay = Fraction();
    optimizer.clip_value = Fraction();
    optimizer.clip_norm = Fraction();
    optimizer.global_clip_norm = Fraction();
    optimizer.staleness_power = Fraction();
    return optimizer;
  }

  Random random_;
};

TEST(ShardMapCodecTest, AnEmptyMapRoundTrips) {
  const ShardMap map = DecodeShardMap(EncodeShardMap(ShardMap())).value();
  EXPECT_TRUE(Same(map, ShardMap()));
}

RC_GTEST_PROP(ShardMapCodecProperty, EveryMapRoundTrips, (uint64_t seed)) {
  const ShardMap map = SpecMaker(seed).Map();
  const std::string bytes = EncodeShardMap(map);
  const auto decoded = DecodeShardMap(bytes);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(Same(*decoded, map));
  RC_ASSERT(EncodeShardMap(*decoded) == bytes);
}

TEST(ShardMapCodecTest, TheGeneratorReachesEveryKind) {
  std::set<size_t> initializers, rates, rules, modes;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const VariableSpec spec = SpecMaker(seed).Spec("w");
    const auto decoded = DecodeShardMap(
        EncodeShardMap(AddVariables(ShardMap::Make(1, 1, 2, {}).value(), {spec},
                                    FixedShards(2))
                           .value()));
    ASSERT_OK(decoded);
    ASSERT_TRUE(Same(decoded->Find("w")->spec, spec));
    initializers.insert(spec.initializer.index());
    modes.insert(spec.update.index());
    if (!spec.optimizer.has_value()) continue;
    rules.insert(spec.optimizer->rule.index());
    std::visit(
        [&](const auto& rule) { rates.insert(rule.learning_rate.index()); },
        spec.optimizer->rule);
  }
  EXPECT_EQ(initializers.size(), std::variant_size_v<Initializer>);
  EXPECT_EQ(rates.size(), std::variant_size_v<LearningRate>);
  EXPECT_EQ(rules.size(), std::variant_size_v<Optimizer::Rule>);
  EXPECT_EQ(modes.size(), std::variant_size_v<UpdateMode>);
}

TEST(ShardMapCodecTest, IdsOfDroppedVariablesStayUsed) {
  const ShardMap map = ShardMap::Make(1, 1, 2, {}, 77).value();
  EXPECT_EQ(DecodeShardMap(EncodeShardMap(map)).value().next_id(), 77u);
}

// A map of one valid variable, after `change`.
template <typename Change>
absl::StatusOr<ShardMap> DecodeChanged(const Change& change) {
  VariableSpec spec{.name = "w", .shape = {10, 4}};
  spec.optimizer = Adam{};
  const ShardMap map =
      AddVariables(ShardMap::Make(1, 1, 2, {}).value(), {spec}, FixedShards(2))
          .value();
  wire::ShardMapMessage message;
  EXPECT_TRUE(message.ParseFromString(EncodeShardMap(map)));
  change(message, *message.mutable_entries(0));
  return DecodeShardMap(message.SerializeAsString());
}

TEST(ShardMapCodecTest, WhatMakesNoSenseIsRefused) {
  using Map = wire::ShardMapMessage;
  using Entry = wire::VariableEntryMessage;
  const auto refused = [](const char* why) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why));
  };
  EXPECT_OK(DecodeChanged([](Map&, Entry&) {}));
  EXPECT_THAT(DecodeChanged([](Map&, Entry& e) { e.clear_spec(); }),
              refused("unknown"));
  EXPECT_THAT(DecodeChanged([](Map&, Entry& e) { e.add_shard_servers(0); }),
              refused("2 shards on 3 servers"));
  EXPECT_THAT(DecodeChanged([](Map&, Entry& e) { e.set_shard_ends(1, 9); }),
              refused("end at row 9"));
  EXPECT_THAT(DecodeChanged([](Map&, Entry& e) { e.set_shard_ends(0, -1); }),
              refused("should have rows"));
  EXPECT_THAT(DecodeChanged([](Map&, Entry& e) { e.set_shard_servers(0, 2); }),
              refused("server 2"));
  EXPECT_THAT(DecodeChanged([](Map& m, Entry&) { m.set_servers(UINT32_MAX); }),
              refused("servers"));
  EXPECT_THAT(
      DecodeChanged([](Map& m, Entry& e) { *m.add_entries() = Entry(e); }),
      refused("two of that name"));
}

TEST(ShardMapCodecTest, SpecsThatMakeNoSenseAreRefused) {
  const auto check = [](const char* why, auto change) {
    EXPECT_THAT(
        DecodeChanged([&](auto&, auto& e) { change(*e.mutable_spec()); }),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  using Spec = wire::VariableSpecMessage;
  check("without a name", [](Spec& s) { s.clear_name(); });
  check("control characters", [](Spec& s) { s.set_name("\n"); });
  check("must be UTF-8", [](Spec& s) { s.set_name("\xff"); });
  check("negative dimension", [](Spec& s) { s.set_dims(0, -1); });
  check("too many elements", [](Spec& s) { s.add_dims(INT64_MAX); });
  check("at most 8 dimensions", [](Spec& s) {
    for (int i = 0; i < 9; ++i) s.add_dims(1);
  });
  check("element type code 0", [](Spec& s) { s.clear_dtype(); });
  check("element type code 265", [](Spec& s) { s.set_dtype(256 + 9); });
  check("unknown initializer 0", [](Spec& s) { s.clear_initializer(); });
  check("unknown initializer 13", [](Spec& s) {
    s.mutable_initializer()->set_kind(
        static_cast<wire::InitializerMessage::Kind>(13));
  });
  check("value is nan", [](Spec& s) {
    s.mutable_initializer()->set_kind(wire::InitializerMessage::CONSTANT);
    s.mutable_initializer()->set_value(
        std::numeric_limits<double>::quiet_NaN());
  });
  check("unknown update mode 0", [](Spec& s) { s.clear_update(); });
  check("Sync.replicas is -1", [](Spec& s) {
    s.mutable_update()->set_kind(wire::UpdateModeMessage::SYNC);
    s.mutable_update()->set_replicas(-1);
  });
  check("unknown aggregation 3", [](Spec& s) { s.set_aggregation(3); });
  check("unknown aggregation 256", [](Spec& s) { s.set_aggregation(256); });
  check("unknown non_finite 3", [](Spec& s) { s.set_non_finite(3); });
  check("names the variable itself", [](Spec& s) { s.set_colocate_with("w"); });
}

TEST(ShardMapCodecTest, OptimizersThatMakeNoSenseAreRefused) {
  const auto check = [](const char* why, auto change) {
    EXPECT_THAT(DecodeChanged([&](auto&, auto& e) {
                  change(*e.mutable_spec()->mutable_optimizer());
                }),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  using Message = wire::OptimizerMessage;
  check("unknown learning rate 0", [](Message& o) { o.clear_rule(); });
  check("unknown optimizer 0",
        [](Message& o) { o.mutable_rule()->clear_kind(); });
  check("unknown row moments 2",
        [](Message& o) { o.mutable_rule()->set_row_moments(2); });
  check("beta1", [](Message& o) { o.mutable_rule()->set_beta1(1); });
  check("clip_norm", [](Message& o) { o.set_clip_norm(-1); });
  check("boundaries", [](Message& o) {
    o.mutable_rule()->mutable_learning_rate()->set_kind(
        wire::LearningRateMessage::PIECEWISE_CONSTANT);
  });
}

TEST(ShardMapCodecTest, GarbageIsRefused) {
  EXPECT_THAT(DecodeShardMap(std::string(10, '\xff')),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

// Randomly changed bytes decode to a valid map or to an error, and never crash
// the process.
TEST(ShardMapCodecTest, MutatedBytesNeverCrash) {
  int accepted = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const std::string original = EncodeShardMap(SpecMaker(seed).Map());
    Random random(seed);
    for (int i = 0; i < 100; ++i) {
      std::string bytes = original;
      const uint64_t changes = 1 + random.Below(4);
      for (uint64_t k = 0; k < changes && !bytes.empty(); ++k) {
        const size_t at = random.Below(bytes.size());
        const auto any = static_cast<char>(random.Below(256));
        switch (random.Below(5)) {
          case 0:
            bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.Below(8)));
            break;
          case 1:
            bytes[at] = any;
            break;
          case 2:
            bytes.insert(at, 1, any);
            break;
          case 3:
            bytes.erase(at, 1 + random.Below(8));
            break;
          default:
            bytes.resize(at);
        }
      }
      const auto decoded = DecodeShardMap(bytes);
      if (!decoded.ok()) {
        ++refused;
        ASSERT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument)
            << decoded.status();
        continue;
      }
      ++accepted;
      const auto again = DecodeShardMap(EncodeShardMap(*decoded));
      ASSERT_OK(again);
      ASSERT_TRUE(Same(*again, *decoded));
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace capstan
