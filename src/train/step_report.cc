#include "train/step_report.h"

#include "absl/strings/str_cat.h"
#include "capstan/error.h"

namespace capstan {

void Type<StepReport>::Write(ValueWriter& writer, const StepReport& value) {
  writer.Unsigned(value.batches);
  writer.Unsigned(value.examples);
  writer.Double(value.loss_sum);
  writer.Double(value.weight_sum);
  Type<std::vector<std::vector<double>>>::Write(writer, value.metric_states);
  writer.Int(value.data_ns);
  writer.Int(value.pull_ns);
  writer.Int(value.compute_ns);
  writer.Int(value.push_ns);
  writer.Bool(value.end_of_data);
}

StepReport Type<StepReport>::Read(ValueReader& reader) {
  StepReport value;
  value.batches = reader.Unsigned();
  value.examples = reader.Unsigned();
  value.loss_sum = reader.Double();
  value.weight_sum = reader.Double();
  value.metric_states = Type<std::vector<std::vector<double>>>::Read(reader);
  value.data_ns = reader.Int();
  value.pull_ns = reader.Int();
  value.compute_ns = reader.Int();
  value.push_ns = reader.Int();
  value.end_of_data = reader.Bool();
  return value;
}

void AddReport(StepReport& sum,
               std::span<const std::unique_ptr<MetricState>> metrics,
               const StepReport& more) {
  if (more.metric_states.size() != metrics.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("a step with ", more.metric_states.size(),
                             " metrics instead of ", metrics.size(),
                             ": are all tasks the same program?"));
  }
  for (size_t i = 0; i < metrics.size(); ++i) {
    metrics[i]->Merge(more.metric_states[i]);
  }
  sum.batches += more.batches;
  sum.examples += more.examples;
  sum.loss_sum += more.loss_sum;
  sum.weight_sum += more.weight_sum;
  sum.data_ns += more.data_ns;
  sum.pull_ns += more.pull_ns;
  sum.compute_ns += more.compute_ns;
  sum.push_ns += more.push_ns;
  sum.end_of_data = sum.end_of_data || more.end_of_data;
}

void TakeStates(std::span<const std::unique_ptr<MetricState>> metrics,
                StepReport& report) {
  report.metric_states.clear();
  for (const std::unique_ptr<MetricState>& metric : metrics) {
    report.metric_states.push_back(metric->State());
  }
}

double MeanLoss(const StepReport& report) {
  return report.weight_sum == 0 ? 0 : report.loss_sum / report.weight_sum;
}

}  // namespace capstan
