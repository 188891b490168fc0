#include "train/fit_record.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"

namespace capstan {
namespace {

using Json = nlohmann::json;
constexpr Json::error_handler_t kReplace = Json::error_handler_t::replace;

// JSON has no name for what is no number.
double NumberOf(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN()
                        : json.get<double>();
}

Json ToJson(const StepReport& report) {
  Json states = report.metric_states;
  if (states.dump().size() > kMostStatesText) states = Json::array();
  return {
      {"batches", report.batches},
      {"examples", report.examples},
      {"loss_sum", report.loss_sum},
      {"weight_sum", report.weight_sum},
      {"metrics", std::move(states)},
      {"ns",
       {report.data_ns, report.pull_ns, report.compute_ns, report.push_ns}}};
}

StepReport ReportOf(const Json& json) {
  StepReport report;
  report.batches = json.at("batches").get<std::uint64_t>();
  report.examples = json.at("examples").get<std::uint64_t>();
  report.loss_sum = NumberOf(json.at("loss_sum"));
  report.weight_sum = NumberOf(json.at("weight_sum"));
  for (const Json& state : json.at("metrics")) {
    std::vector<double>& numbers = report.metric_states.emplace_back();
    for (const Json& number : state) numbers.push_back(NumberOf(number));
  }
  const Json& ns = json.at("ns");
  report.data_ns = ns.at(0).get<std::int64_t>();
  report.pull_ns = ns.at(1).get<std::int64_t>();
  report.compute_ns = ns.at(2).get<std::int64_t>();
  report.push_ns = ns.at(3).get<std::int64_t>();
  return report;
}

// The newest rows, as many as there is room for.
Json ToJson(const History& history, size_t& room) {
  Json rows = Json::array();
  for (size_t i = history.epochs().size(); i-- > 0;) {
    Json row = {history.epochs()[i], history.rows()[i]};
    const size_t size = row.dump(-1, ' ', false, kReplace).size();
    if (size > room) {
      room = 0;
      break;
    }
    room -= size;
    rows.push_back(std::move(row));
  }
  std::reverse(rows.begin(), rows.end());
  return rows;
}

History HistoryOf(const Json& json) {
  History history;
  for (const Json& row : json) {
    Logs logs;
    for (const auto& [name, value] : row.at(1).items()) {
      logs[name] = NumberOf(value);
    }
    history.Add(row.at(0).get<int>(), logs);
  }
  return history;
}

}  // namespace

std::string EncodeFitRecord(const FitRecord& record) {
  size_t room = kMostHistoryText;
  Json history = ToJson(record.history, room);
  Json past = Json::array();
  for (auto call = record.past.rbegin(); call != record.past.rend(); ++call) {
    past.push_back({call->first, ToJson(call->second, room)});
  }
  Json json = {{"call", record.call},
               {"done", record.done},
               {"stopped", record.stopped},
               {"epochs", record.epochs},
               {"restoring", record.restoring},
               {"epoch", record.epoch},
               {"batch", record.batch},
               {"block_batch", record.block_batch},
               {"steps_per_execution", record.steps_per_execution},
               {"iterations", record.iterations},
               {"report", ToJson(record.report)},
               {"history", std::move(history)},
               {"callbacks", record.callbacks},
               {"past", std::move(past)}};
  if (record.learning_rate) json["learning_rate"] = *record.learning_rate;
  return json.dump(-1, ' ', false, kReplace);
}

FitRecord DecodeFitRecord(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    FitRecord record;
    record.call = json.at("call").get<std::uint64_t>();
    record.done = json.at("done").get<bool>();
    record.epoch = json.at("epoch").get<int>();
    record.batch = json.at("batch").get<std::int64_t>();
    record.block_batch = json.at("block_batch").get<std::int64_t>();
    record.steps_per_execution = json.at("steps_per_execution").get<int>();
    record.iterations = json.at("iterations").get<std::int64_t>();
    record.report = ReportOf(json.at("report"));
    record.history = HistoryOf(json.at("history"));
    // Records of 0.1 have no more than that.
    record.stopped = json.value("stopped", false);
    record.epochs = json.value("epochs", record.epoch);
    record.restoring = json.value("restoring", false);
    for (const Json& call : json.value("past", Json::array())) {
      record.past[call.at(0).get<std::uint64_t>()] = HistoryOf(call.at(1));
    }
    record.callbacks =
        json.at("callbacks")
            .get<std::vector<std::pair<std::string, std::string>>>();
    if (json.contains("learning_rate")) {
      record.learning_rate = json.at("learning_rate").get<double>();
    }
    if (record.epoch < 0 || record.batch < 0 || record.block_batch < 0 ||
        record.block_batch > record.batch || record.iterations < 0) {
      throw Error(ErrorCode::kDataLoss,
                  "the record of a training has a number below 0");
    }
    return record;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kDataLoss,
                absl::StrCat("the record of a training cannot be read: ",
                             error.what()));
  }
}

}  // namespace capstan
