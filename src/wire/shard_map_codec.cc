#include "wire/shard_map_codec.h"

#include <climits>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"
#include "wire/variable.pb.h"

namespace capstan {
namespace {

// A writer destructures its struct, so that a field that is added to the struct
// and forgotten here does not compile.

absl::Status Unknown(const char* what, int64_t number) {
  return absl::InvalidArgumentError(
      absl::StrCat("a shard map with the unknown ", what, " ", number));
}

// Moves the value into `place`, or returns the error.
template <typename T>
absl::Status Store(absl::StatusOr<T> value, T& place) {
  if (!value.ok()) return value.status();
  place = *std::move(value);
  return absl::OkStatus();
}

// Reads the enumerator `number`; all values up to `last` are valid.
template <typename Enum>
absl::Status ReadEnum(const char* what, uint32_t number, Enum last,
                      Enum& value) {
  if (number > static_cast<uint32_t>(last)) return Unknown(what, number);
  value = static_cast<Enum>(number);
  return absl::OkStatus();
}

// Initializers.

using Seed = std::optional<uint64_t>;

class InitializerWriter {
 public:
  explicit InitializerWriter(wire::InitializerMessage& message)
      : message_(message) {}

  void operator()(const Zeros&) const { Kind(message_.ZEROS); }
  void operator()(const Ones&) const { Kind(message_.ONES); }
  void operator()(const Unset&) const { Kind(message_.UNSET); }
  void operator()(const Constant& constant) const {
    const auto& [value] = constant;
    Kind(message_.CONSTANT);
    message_.set_value(value);
  }
  void operator()(const Uniform& uniform) const {
    const auto& [min, max, seed] = uniform;
    Kind(message_.UNIFORM, seed);
    message_.set_min(min);
    message_.set_max(max);
  }
  void operator()(const Normal& normal) const {
    const auto& [mean, stddev, seed] = normal;
    Kind(message_.NORMAL, seed);
    message_.set_mean(mean);
    message_.set_stddev(stddev);
  }
  void operator()(const TruncatedNormal& normal) const {
    const auto& [mean, stddev, seed] = normal;
    Kind(message_.TRUNCATED_NORMAL, seed);
    message_.set_mean(mean);
    message_.set_stddev(stddev);
  }
  void operator()(const GlorotUniform& glorot) const {
    const auto& [seed] = glorot;
    Kind(message_.GLOROT_UNIFORM, seed);
  }
  void operator()(const GlorotNormal& glorot) const {
    const auto& [seed] = glorot;
    Kind(message_.GLOROT_NORMAL, seed);
  }
  void operator()(const HeUniform& he) const {
    const auto& [seed] = he;
    Kind(message_.HE_UNIFORM, seed);
  }
  void operator()(const HeNormal& he) const {
    const auto& [seed] = he;
    Kind(message_.HE_NORMAL, seed);
  }
  void operator()(const Orthogonal& orthogonal) const {
    const auto& [gain, seed] = orthogonal;
    Kind(message_.ORTHOGONAL, seed);
    message_.set_gain(gain);
  }

 private:
  void Kind(wire::InitializerMessage::Kind kind, const Seed& seed = {}) const {
    message_.set_kind(kind);
    if (seed.has_value()) message_.set_seed(*seed);
  }

  wire::InitializerMessage& message_;
};

absl::StatusOr<Initializer> Read(const wire::InitializerMessage& m) {
  const Seed seed = m.has_seed() ? Seed(m.seed()) : std::nullopt;
  switch (m.kind()) {
    case wire::InitializerMessage::ZEROS:
      return Zeros{};
    case wire::InitializerMessage::ONES:
      return Ones{};
    case wire::InitializerMessage::CONSTANT:
      return Constant{m.value()};
    case wire::InitializerMessage::UNIFORM:
      return Uniform{m.min(), m.max(), seed};
    case wire::InitializerMessage::NORMAL:
      return Normal{m.mean(), m.stddev(), seed};
    case wire::InitializerMessage::TRUNCATED_NORMAL:
      return TruncatedNormal{m.mean(), m.stddev(), seed};
    case wire::InitializerMessage::GLOROT_UNIFORM:
      return GlorotUniform{seed};
    case wire::InitializerMessage::GLOROT_NORMAL:
      return GlorotNormal{seed};
    case wire::InitializerMessage::HE_UNIFORM:
      return HeUniform{seed};
    case wire::InitializerMessage::HE_NORMAL:
      return HeNormal{seed};
    case wire::InitializerMessage::ORTHOGONAL:
      return Orthogonal{m.gain(), seed};
    case wire::InitializerMessage::UNSET:
      return Unset{};
    default:
      return Unknown("initializer", m.kind());
  }
}

// Update modes.

void Write(const UpdateMode& mode, wire::UpdateModeMessage& message) {
  if (const auto* sync = std::get_if<Sync>(&mode)) {
    const auto& [replicas, backup] = *sync;
    message.set_kind(message.SYNC);
    message.set_replicas(replicas);
    message.set_backup(backup);
  } else if (const auto* bounded = std::get_if<BoundedStaleness>(&mode)) {
    const auto& [replicas, bound] = *bounded;
    message.set_kind(message.BOUNDED_STALENESS);
    message.set_replicas(replicas);
    message.set_bound(bound);
  } else {
    message.set_kind(message.ASYNC);
  }
}

absl::StatusOr<UpdateMode> Read(const wire::UpdateModeMessage& message) {
  switch (message.kind()) {
    case wire::UpdateModeMessage::ASYNC:
      return Async{};
    case wire::UpdateModeMessage::SYNC:
      return Sync{message.replicas(), message.backup()};
    case wire::UpdateModeMessage::BOUNDED_STALENESS:
      return BoundedStaleness{message.replicas(), message.bound()};
    default:
      return Unknown("update mode", message.kind());
  }
}

// Learning rates.

class LearningRateWriter {
 public:
  explicit LearningRateWriter(wire::LearningRateMessage& message)
      : message_(message) {}

  void operator()(double value) const {
    message_.set_kind(message_.CONSTANT);
    message_.set_initial(value);
  }
  void operator()(const ExponentialDecay& decay) const {
    const auto& [initial, steps, rate, staircase] = decay;
    Decay(message_.EXPONENTIAL_DECAY, initial, steps);
    message_.set_rate(rate);
    message_.set_staircase(staircase);
  }
  void operator()(const PolynomialDecay& decay) const {
    const auto& [initial, steps, end, power, cycle] = decay;
    Decay(message_.POLYNOMIAL_DECAY, initial, steps);
    message_.set_end(end);
    message_.set_power(power);
    message_.set_cycle(cycle);
  }
  void operator()(const InverseTimeDecay& decay) const {
    const auto& [initial, steps, rate, staircase] = decay;
    Decay(message_.INVERSE_TIME_DECAY, initial, steps);
    message_.set_rate(rate);
    message_.set_staircase(staircase);
  }
  void operator()(const PiecewiseConstant& pieces) const {
    const auto& [boundaries, values] = pieces;
    message_.set_kind(message_.PIECEWISE_CONSTANT);
    message_.mutable_boundaries()->Add(boundaries.begin(), boundaries.end());
    message_.mutable_values()->Add(values.begin(), values.end());
  }
  void operator()(const CosineDecay& decay) const {
    const auto& [initial, steps, alpha, warmup_steps] = decay;
    Decay(message_.COSINE_DECAY, initial, steps);
    message_.set_alpha(alpha);
    message_.set_warmup_steps(warmup_steps);
  }

 private:
  void Decay(wire::LearningRateMessage::Kind kind, double initial,
             int64_t steps) const {
    message_.set_kind(kind);
    message_.set_initial(initial);
    message_.set_steps(steps);
  }

  wire::LearningRateMessage& message_;
};

absl::StatusOr<LearningRate> Read(const wire::LearningRateMessage& m) {
  switch (m.kind()) {
    case wire::LearningRateMessage::CONSTANT:
      return m.initial();
    case wire::LearningRateMessage::EXPONENTIAL_DECAY:
      return ExponentialDecay{m.initial(), m.steps(), m.rate(), m.staircase()};
    case wire::LearningRateMessage::POLYNOMIAL_DECAY:
      return PolynomialDecay{m.initial(), m.steps(), m.end(), m.power(),
                             m.cycle()};
    case wire::LearningRateMessage::INVERSE_TIME_DECAY:
      return InverseTimeDecay{m.initial(), m.steps(), m.rate(), m.staircase()};
    case wire::LearningRateMessage::PIECEWISE_CONSTANT:
      return PiecewiseConstant{{m.boundaries().begin(), m.boundaries().end()},
                               {m.values().begin(), m.values().end()}};
    case wire::LearningRateMessage::COSINE_DECAY:
      return CosineDecay{m.initial(), m.steps(), m.alpha(), m.warmup_steps()};
    default:
      return Unknown("learning rate", m.kind());
  }
}

// Optimizers.

class RuleWriter {
 public:
  explicit RuleWriter(wire::RuleMessage& message) : message_(message) {}

  void operator()(const Sgd& rule) const {
    const auto& [learning_rate] = rule;
    Kind(message_.SGD, learning_rate);
  }
  void operator()(const Momentum& rule) const {
    const auto& [learning_rate, momentum, nesterov] = rule;
    Kind(message_.MOMENTUM, learning_rate);
    message_.set_momentum(momentum);
    message_.set_nesterov(nesterov);
  }
  void operator()(const Adagrad& rule) const {
    const auto& [learning_rate, initial_accumulator, epsilon] = rule;
    Kind(message_.ADAGRAD, learning_rate);
    message_.set_initial_accumulator(initial_accumulator);
    message_.set_epsilon(epsilon);
  }
  void operator()(const Adadelta& rule) const {
    const auto& [learning_rate, rho, epsilon] = rule;
    Kind(message_.ADADELTA, learning_rate);
    message_.set_rho(rho);
    message_.set_epsilon(epsilon);
  }
  void operator()(const RmsProp& rule) const {
    const auto& [learning_rate, rho, momentum, epsilon, centered] = rule;
    Kind(message_.RMS_PROP, learning_rate);
    message_.set_rho(rho);
    message_.set_momentum(momentum);
    message_.set_epsilon(epsilon);
    message_.set_centered(centered);
  }
  void operator()(const Adam& rule) const {
    const auto& [learning_rate, beta1, beta2, epsilon, amsgrad, row_moments] =
        rule;
    Kind(message_.ADAM, learning_rate);
    Betas(beta1, beta2, epsilon);
    message_.set_amsgrad(amsgrad);
    message_.set_row_moments(static_cast<uint32_t>(row_moments));
  }
  void operator()(const AdamW& rule) const {
    const auto& [learning_rate, weight_decay, beta1, beta2, epsilon, amsgrad,
                 row_moments] = rule;
    Kind(message_.ADAM_W, learning_rate);
    message_.set_weight_decay(weight_decay);
    Betas(beta1, beta2, epsilon);
    message_.set_amsgrad(amsgrad);
    message_.set_row_moments(static_cast<uint32_t>(row_moments));
  }
  void operator()(const Adamax& rule) const {
    const auto& [learning_rate, beta1, beta2, epsilon] = rule;
    Kind(message_.ADAMAX, learning_rate);
    Betas(beta1, beta2, epsilon);
  }
  void operator()(const Nadam& rule) const {
    const auto& [learning_rate, beta1, beta2, epsilon, momentum_decay] = rule;
    Kind(message_.NADAM, learning_rate);
    Betas(beta1, beta2, epsilon);
    message_.set_momentum_decay(momentum_decay);
  }
  void operator()(const Ftrl& rule) const {
    const auto& [learning_rate, learning_rate_power, initial_accumulator, l1,
                 l2, l2_shrinkage, beta] = rule;
    Kind(message_.FTRL, learning_rate);
    message_.set_learning_rate_power(learning_rate_power);
    message_.set_initial_accumulator(initial_accumulator);
    message_.set_l1(l1);
    message_.set_l2(l2);
    message_.set_l2_shrinkage(l2_shrinkage);
    message_.set_beta(beta);
  }

 private:
  void Kind(wire::RuleMessage::Kind kind, const LearningRate& rate) const {
    message_.set_kind(kind);
    std::visit(LearningRateWriter(*message_.mutable_learning_rate()), rate);
  }
  void Betas(double beta1, double beta2, double epsilon) const {
    message_.set_beta1(beta1);
    message_.set_beta2(beta2);
    message_.set_epsilon(epsilon);
  }

  wire::RuleMessage& message_;
};

absl::StatusOr<Optimizer::Rule> Read(const wire::RuleMessage& m) {
  LearningRate rate;
  CAPSTAN_RETURN_IF_ERROR(Store(Read(m.learning_rate()), rate));
  RowMoments row_moments = RowMoments::kLazy;
  CAPSTAN_RETURN_IF_ERROR(ReadEnum("row moments", m.row_moments(),
                                   RowMoments::kExact, row_moments));
  switch (m.kind()) {
    case wire::RuleMessage::SGD:
      return Sgd{rate};
    case wire::RuleMessage::MOMENTUM:
      return Momentum{rate, m.momentum(), m.nesterov()};
    case wire::RuleMessage::ADAGRAD:
      return Adagrad{rate, m.initial_accumulator(), m.epsilon()};
    case wire::RuleMessage::ADADELTA:
      return Adadelta{rate, m.rho(), m.epsilon()};
    case wire::RuleMessage::RMS_PROP:
      return RmsProp{rate, m.rho(), m.momentum(), m.epsilon(), m.centered()};
    case wire::RuleMessage::ADAM:
      return Adam{rate,        m.beta1(),   m.beta2(),
                  m.epsilon(), m.amsgrad(), row_moments};
    case wire::RuleMessage::ADAM_W:
      return AdamW{rate,        m.weight_decay(), m.beta1(),  m.beta2(),
                   m.epsilon(), m.amsgrad(),      row_moments};
    case wire::RuleMessage::ADAMAX:
      return Adamax{rate, m.beta1(), m.beta2(), m.epsilon()};
    case wire::RuleMessage::NADAM:
      return Nadam{rate, m.beta1(), m.beta2(), m.epsilon(), m.momentum_decay()};
    case wire::RuleMessage::FTRL:
      return Ftrl{rate,
                  m.learning_rate_power(),
                  m.initial_accumulator(),
                  m.l1(),
                  m.l2(),
                  m.l2_shrinkage(),
                  m.beta()};
    default:
      return Unknown("optimizer", m.kind());
  }
}

void Write(const Optimizer& optimizer, wire::OptimizerMessage& message) {
  const auto& [rule, weight_decay, clip_value, clip_norm, global_clip_norm,
               staleness_power] = optimizer;
  std::visit(RuleWriter(*message.mutable_rule()), rule);
  message.set_weight_decay(weight_decay);
  message.set_clip_value(clip_value);
  message.set_clip_norm(clip_norm);
  message.set_global_clip_norm(global_clip_norm);
  message.set_staleness_power(staleness_power);
}

absl::Status Read(const wire::OptimizerMessage& message, Optimizer& optimizer) {
  CAPSTAN_RETURN_IF_ERROR(Store(Read(message.rule()), optimizer.rule));
  optimizer.weight_decay = message.weight_decay();
  optimizer.clip_value = message.clip_value();
  optimizer.clip_norm = message.clip_norm();
  optimizer.global_clip_norm = message.global_clip_norm();
  optimizer.staleness_power = message.staleness_power();
  return absl::OkStatus();
}

// Variables.

void Write(const VariableSpec& spec, wire::VariableSpecMessage& message) {
  const auto& [name, shape, dtype, initializer, optimizer, aggregation,
               trainable, update, non_finite, colocate_with] = spec;
  message.set_name(name);
  message.mutable_dims()->Add(shape.dims().begin(), shape.dims().end());
  message.set_dtype(CodeOf(dtype));
  std::visit(InitializerWriter(*message.mutable_initializer()), initializer);
  if (optimizer.has_value()) Write(*optimizer, *message.mutable_optimizer());
  message.set_aggregation(static_cast<uint32_t>(aggregation));
  message.set_trainable(trainable);
  Write(update, *message.mutable_update());
  message.set_non_finite(static_cast<uint32_t>(non_finite));
  message.set_colocate_with(colocate_with);
}

absl::Status Read(const wire::VariableSpecMessage& message,
                  VariableSpec& spec) {
  spec.name = message.name();
  const std::vector<int64_t> dims(message.dims().begin(), message.dims().end());
  CAPSTAN_RETURN_IF_ERROR(Store(MakeShape(dims), spec.shape));
  CAPSTAN_RETURN_IF_ERROR(Store(DTypeFromCode(message.dtype()), spec.dtype));
  CAPSTAN_RETURN_IF_ERROR(Store(Read(message.initializer()), spec.initializer));
  if (message.has_optimizer()) {
    CAPSTAN_RETURN_IF_ERROR(
        Read(message.optimizer(), spec.optimizer.emplace()));
  }
  CAPSTAN_RETURN_IF_ERROR(ReadEnum("aggregation", message.aggregation(),
                                   Aggregation::kOnlyFirstReplica,
                                   spec.aggregation));
  spec.trainable = message.trainable();
  CAPSTAN_RETURN_IF_ERROR(Store(Read(message.update()), spec.update));
  CAPSTAN_RETURN_IF_ERROR(ReadEnum("non_finite", message.non_finite(),
                                   NonFinite::kAccept, spec.non_finite));
  spec.colocate_with = message.colocate_with();
  return absl::OkStatus();
}

absl::Status Read(const wire::VariableEntryMessage& message,
                  VariableEntry& entry) {
  entry.id = message.id();
  CAPSTAN_RETURN_IF_ERROR(Read(message.spec(), entry.spec));
  if (message.shard_ends_size() != message.shard_servers_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a shard map with ", message.shard_ends_size(),
                     " shards on ", message.shard_servers_size(), " servers"));
  }
  int64_t begin = 0;
  for (int i = 0; i < message.shard_ends_size(); ++i) {
    const int64_t end = message.shard_ends(i);
    entry.shards.push_back(
        {.begin = begin, .end = end, .server = message.shard_servers(i)});
    begin = end;
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeShardMap(const ShardMap& map) {
  wire::ShardMapMessage message;
  message.set_generation(map.generation());
  message.set_version(map.version());
  message.set_servers(map.servers());
  message.set_next_id(map.next_id());
  for (const uint32_t server : map.left_out()) message.add_left_out(server);
  for (const VariableEntry& entry : map.entries()) {
    wire::VariableEntryMessage& variable = *message.add_entries();
    variable.set_id(entry.id);
    Write(entry.spec, *variable.mutable_spec());
    for (const ShardPlace& shard : entry.shards) {
      variable.add_shard_ends(shard.end);
      variable.add_shard_servers(shard.server);
    }
  }
  return message.SerializeAsString();
}

absl::StatusOr<ShardMap> DecodeShardMap(std::string_view bytes) {
  wire::ShardMapMessage message;
  if (bytes.size() > INT_MAX ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("a shard map that cannot be parsed");
  }
  // Grows as entries prove valid: an empty one is only two bytes in a message.
  std::vector<VariableEntry> entries;
  for (const wire::VariableEntryMessage& variable : message.entries()) {
    CAPSTAN_RETURN_IF_ERROR(Read(variable, entries.emplace_back()));
  }
  return ShardMap::Make(message.generation(), message.version(),
                        message.servers(), std::move(entries),
                        message.next_id(),
                        {message.left_out().begin(), message.left_out().end()});
}

}  // namespace capstan
