#include "train/step_config.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"

namespace capstan {
namespace {

// The fields of each alternative, in encoding order.
auto Fields(MeanSquaredError&) { return std::tie(); }
auto Fields(BinaryCrossentropy& loss) { return std::tie(loss.from_logits); }
auto Fields(CategoricalCrossentropy& loss) {
  return std::tie(loss.from_logits);
}
auto Fields(SparseCategoricalCrossentropy& loss) {
  return std::tie(loss.from_logits);
}
auto Fields(MeanAbsoluteError&) { return std::tie(); }
auto Fields(Huber& loss) { return std::tie(loss.delta); }
auto Fields(Hinge&) { return std::tie(); }
auto Fields(CustomLoss& loss) { return std::tie(loss.name); }

auto Fields(Accuracy& metric) { return std::tie(metric.name); }
auto Fields(BinaryAccuracy& metric) {
  return std::tie(metric.threshold, metric.from_logits, metric.name);
}
auto Fields(CategoricalAccuracy& metric) { return std::tie(metric.name); }
auto Fields(SparseCategoricalAccuracy& metric) { return std::tie(metric.name); }
auto Fields(TopKAccuracy& metric) { return std::tie(metric.k, metric.name); }
auto Fields(Auc& metric) {
  return std::tie(metric.thresholds, metric.from_logits, metric.name);
}
auto Fields(Precision& metric) {
  return std::tie(metric.threshold, metric.from_logits, metric.name);
}
auto Fields(Recall& metric) {
  return std::tie(metric.threshold, metric.from_logits, metric.name);
}
auto Fields(MeanSquaredErrorMetric& metric) { return std::tie(metric.name); }
auto Fields(RootMeanSquaredError& metric) { return std::tie(metric.name); }
auto Fields(MeanAbsoluteErrorMetric& metric) { return std::tie(metric.name); }
auto Fields(Mean& metric) { return std::tie(metric.name); }
auto Fields(CustomMetric& metric) { return std::tie(metric.name); }

auto Fields(Async&) { return std::tie(); }
auto Fields(Sync& mode) { return std::tie(mode.replicas, mode.backup); }
auto Fields(BoundedStaleness& mode) {
  return std::tie(mode.replicas, mode.bound);
}

template <typename... Ts>
void WriteVariant(ValueWriter& writer, std::variant<Ts...> value) {
  writer.Unsigned(value.index());
  std::visit(
      [&](auto& kind) {
        std::apply(
            [&](auto&... field) {
              (Type<std::remove_cvref_t<decltype(field)>>::Write(writer, field),
               ...);
            },
            Fields(kind));
      },
      value);
}

template <typename Variant, size_t... Is>
Variant OfIndex(uint64_t index, std::index_sequence<Is...> /*all*/) {
  Variant value;
  const bool known =
      ((index == Is ? (value.template emplace<Is>(), true) : false) || ...);
  if (!known) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("an order of kind ", index,
                             ", which this program does not know"));
  }
  return value;
}

template <typename Variant>
Variant ReadVariant(ValueReader& reader) {
  auto value = OfIndex<Variant>(
      reader.Unsigned(),
      std::make_index_sequence<std::variant_size_v<Variant>>());
  std::visit(
      [&](auto& kind) {
        std::apply(
            [&](auto&... field) {
              ((field =
                    Type<std::remove_cvref_t<decltype(field)>>::Read(reader)),
               ...);
            },
            Fields(kind));
      },
      value);
  return value;
}

}  // namespace

std::string EncodeOrder(const StepConfig& order) {
  ValueWriter writer;
  WriteVariant(writer, order.loss);
  writer.List(order.metrics.size());
  for (const MetricSpec& metric : order.metrics) WriteVariant(writer, metric);
  Type<std::map<int64_t, double>>::Write(writer, order.class_weights);
  writer.Text(order.input);
  writer.Text(order.target);
  writer.Text(order.weight);
  WriteVariant(writer, order.update);
  writer.Bool(order.prefetch);
  writer.Unsigned(order.call);
  return writer.Take().bytes;
}

StepConfig DecodeOrder(std::string_view text) {
  const EncodedValue value{.bytes = std::string(text)};
  ValueReader reader(value);
  StepConfig order;
  order.loss = ReadVariant<Loss>(reader);
  const size_t metrics = reader.List();
  for (size_t i = 0; i < metrics; ++i) {
    order.metrics.push_back(ReadVariant<MetricSpec>(reader));
  }
  order.class_weights = Type<std::map<int64_t, double>>::Read(reader);
  order.input = reader.Text();
  order.target = reader.Text();
  order.weight = reader.Text();
  order.update = ReadVariant<UpdateMode>(reader);
  order.prefetch = reader.Bool();
  order.call = reader.Unsigned();
  reader.End();
  return order;
}

}  // namespace capstan
