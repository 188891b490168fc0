// Event           { double wall_time = 1; int64 step = 2;
//                   string file_version = 3; Summary summary = 5;
//                   SessionLog session_log = 7; }
// SessionLog      { SessionStatus status = 1; }
// Summary         { repeated Value value = 1; }
// Value           { string tag = 1; float simple_value = 2;
//                   HistogramProto histo = 5; TensorProto tensor = 8;
//                   SummaryMetadata metadata = 9; }
// HistogramProto  { double min = 1, max = 2, num = 3, sum = 4, sum_squares = 5;
//                   repeated double bucket_limit = 6, bucket = 7; (packed) }
// TensorProto     { DataType dtype = 1; TensorShapeProto tensor_shape = 2;
//                   repeated bytes string_val = 8; }
// TensorShapeProto{ repeated Dim { int64 size = 1; } dim = 2; }
// SummaryMetadata { PluginData { string plugin_name = 1; bytes content = 2; }
//                   plugin_data = 1; DataClass data_class = 4; }
//
// Scalars and histograms are in the form of TensorFlow 1, which TensorBoard
// converts as it reads: every reader of event files knows it.
#include "telemetry/event.h"

namespace capstan {
namespace {

constexpr int kSessionStart = 1;     // SessionLog.SessionStatus.START
constexpr int kDtString = 7;         // DataType.DT_STRING
constexpr int kDataClassTensor = 2;  // DataClass.DATA_CLASS_TENSOR

}  // namespace

std::string EncodeFileVersion(double wall_seconds) {
  return ProtoWriter().Double(1, wall_seconds).Text(3, "brain.Event:2").bytes();
}

std::string EncodeSummary(double wall_seconds, int64_t step,
                          const ProtoWriter& value) {
  ProtoWriter event;
  event.Double(1, wall_seconds);
  if (step != 0) event.Varint(2, step);
  return event.Message(5, ProtoWriter().Message(1, value)).bytes();
}

std::string EncodeRestart(double wall_seconds, int64_t step) {
  ProtoWriter event;
  event.Double(1, wall_seconds);
  if (step != 0) event.Varint(2, step);
  return event.Message(7, ProtoWriter().Varint(1, kSessionStart)).bytes();
}

ProtoWriter ScalarValue(std::string_view tag, float value) {
  return ProtoWriter().Text(1, tag).Float(2, value);
}

ProtoWriter HistogramSummary(std::string_view tag,
                             const ValueHistogram& histogram) {
  ProtoWriter message;
  message.Double(1, histogram.min)
      .Double(2, histogram.max)
      .Double(3, histogram.count)
      .Double(4, histogram.sum)
      .Double(5, histogram.sum_of_squares)
      .PackedDoubles(6, histogram.limits)
      .PackedDoubles(7, histogram.counts);
  return ProtoWriter().Text(1, tag).Message(5, message);
}

ProtoWriter TextValue(std::string_view tag, std::string_view text) {
  const ProtoWriter plugin = ProtoWriter().Text(1, "text");
  const ProtoWriter metadata =
      ProtoWriter().Message(1, plugin).Varint(4, kDataClassTensor);
  const ProtoWriter shape = ProtoWriter();  // scalar: no dims
  const ProtoWriter tensor =
      ProtoWriter().Varint(1, kDtString).Message(2, shape).Text(8, text);
  return ProtoWriter().Text(1, tag).Message(8, tensor).Message(9, metadata);
}

}  // namespace capstan
