// HParamsPluginData { int32 version = 1 (0); oneof { Experiment experiment = 2;
//                     SessionStartInfo session_start_info = 3;
//                     SessionEndInfo session_end_info = 4; } }
// Experiment        { double time_created_secs = 3;
//                     repeated HParamInfo hparam_infos = 4;
//                     repeated MetricInfo metric_infos = 5; }
// HParamInfo        { string name = 1; DataType type = 4; }
// MetricInfo        { MetricName { string group = 1; string tag = 2; }
//                     name = 1; }
// SessionStartInfo  { map<string, google.protobuf.Value> hparams = 1;
//                     double start_time_secs = 5; }
// SessionEndInfo    { Status status = 1; double end_time_secs = 2; }
// map entry         { key = 1; value = 2; }
// google.protobuf.Value { oneof { double number_value = 2;
//                     string string_value = 3; bool bool_value = 4; } }
#include "telemetry/event.h"

namespace capstan {
namespace {

enum : int {  // DataType of api.proto
  kTypeString = 1,
  kTypeBool = 2,
  kTypeFloat64 = 3,
};
constexpr int kStatusSuccess = 1;  // Status of api.proto
constexpr int kStatusFailure = 2;
constexpr int kDtFloat = 1;  // DataType.DT_FLOAT of types.proto

int TypeOf(const HParamValue& value) {
  if (std::holds_alternative<std::string>(value)) return kTypeString;
  return std::holds_alternative<bool>(value) ? kTypeBool : kTypeFloat64;
}

ProtoWriter Encode(const HParamValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return ProtoWriter().Text(3, *text);
  }
  if (const bool* flag = std::get_if<bool>(&value)) {
    return ProtoWriter().Varint(4, *flag ? 1 : 0);
  }
  return ProtoWriter().Double(2, std::get<double>(value));
}

// `data` becomes the given field of HParamsPluginData.
ProtoWriter Summary(std::string_view tag, int field, const ProtoWriter& data) {
  const ProtoWriter content = ProtoWriter().Message(field, data);
  const ProtoWriter plugin =
      ProtoWriter().Text(1, "hparams").Text(2, content.bytes());
  const ProtoWriter metadata = ProtoWriter().Message(1, plugin);
  // Everything is in the metadata, but readers skip a value without a tensor:
  // so write an empty float tensor of shape [0], as TensorBoard's own writer
  // does.
  const ProtoWriter shape = ProtoWriter().Message(2, ProtoWriter());
  const ProtoWriter tensor =
      ProtoWriter().Varint(1, kDtFloat).Message(2, shape);
  return ProtoWriter().Text(1, tag).Message(8, tensor).Message(9, metadata);
}

}  // namespace

ProtoWriter HParamsExperiment(double wall_seconds,
                              const std::map<std::string, HParamValue>& hparams,
                              std::span<const HParamMetric> metrics) {
  ProtoWriter experiment;
  experiment.Double(3, wall_seconds);
  for (const auto& [name, value] : hparams) {
    experiment.Message(4, ProtoWriter().Text(1, name).Varint(4, TypeOf(value)));
  }
  for (const HParamMetric& metric : metrics) {
    const ProtoWriter name =
        ProtoWriter().Text(1, metric.group).Text(2, metric.tag);
    experiment.Message(5, ProtoWriter().Message(1, name));
  }
  return Summary("_hparams_/experiment", 2, experiment);
}

ProtoWriter HParamsStart(double wall_seconds,
                         const std::map<std::string, HParamValue>& hparams) {
  ProtoWriter start;
  for (const auto& [name, value] : hparams) {
    start.Message(1, ProtoWriter().Text(1, name).Message(2, Encode(value)));
  }
  start.Double(5, wall_seconds);
  return Summary("_hparams_/session_start_info", 3, start);
}

ProtoWriter HParamsEnd(double wall_seconds, HParamsOutcome end) {
  const ProtoWriter info =
      ProtoWriter()
          .Varint(1, end == HParamsOutcome::kSuccess ? kStatusSuccess
                                                     : kStatusFailure)
          .Double(2, wall_seconds);
  return Summary("_hparams_/session_end_info", 4, info);
}

}  // namespace capstan
