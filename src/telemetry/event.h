// The messages of TensorBoard's event files, encoded. The field numbers are
// those of TensorBoard's event.proto, summary.proto, tensor.proto and the
// hparams plugin's plugin_data.proto and api.proto.
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "telemetry/proto_writer.h"
#include "telemetry/value_histogram.h"

namespace capstan {

// A hyperparameter: text, a number or a boolean.
using HParamValue = std::variant<std::string, double, bool>;

// A metric that a run is judged by: a scalar's tag, and the run's subfolder
// whose event file has it, such as "validation" ("" for the folder with the
// hyperparameters).
struct HParamMetric {
  std::string tag;
  std::string group = {};
};

enum class HParamsOutcome { kSuccess, kFailure };

// The first event of a file: its format version.
std::string EncodeFileVersion(double wall_seconds);

// An event with one summary value, made by the functions below.
std::string EncodeSummary(double wall_seconds, int64_t step,
                          const ProtoWriter& value);

// Restarts a run at `step`: TensorBoard drops what the run's earlier files have
// for that step and later ones.
std::string EncodeRestart(double wall_seconds, int64_t step);

// A point of a curve; one distribution of a series; text in Markdown.
ProtoWriter ScalarValue(std::string_view tag, float value);
ProtoWriter HistogramSummary(std::string_view tag,
                             const ValueHistogram& histogram);
ProtoWriter TextValue(std::string_view tag, std::string_view text);

// For the hparams plugin: which hyperparameters and metrics exist; the values
// that this run was started with; how it ended.
ProtoWriter HParamsExperiment(double wall_seconds,
                              const std::map<std::string, HParamValue>& hparams,
                              std::span<const HParamMetric> metrics);
ProtoWriter HParamsStart(double wall_seconds,
                         const std::map<std::string, HParamValue>& hparams);
ProtoWriter HParamsEnd(double wall_seconds, HParamsOutcome end);

}  // namespace capstan
