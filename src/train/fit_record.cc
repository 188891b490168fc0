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

// Throws kDataLoss, naming the field, unless it is an integer of at least
// `least` that fits in a T.
template <typename T>
T WholeOf(const Json& json, const char* name, T least = 0) {
  const Json& field = json.at(name);
  // To the library, a negative number is not unsigned, and neither is 1.5.
  const bool fits =
      field.is_number_unsigned() &&
      field.get<std::uint64_t>() <=
          static_cast<std::uint64_t>(std::numeric_limits<T>::max()) &&
      field.get<T>() >= least;
  if (fits) return field.get<T>();
  throw Error(ErrorCode::kDataLoss,
              absl::StrCat("the record of a training makes no sense: ", name,
                           " is ", field.dump(-1, ' ', false, kReplace),
                           ", not a whole number from ", least, " on"));
}

// What is inconsistent in the record; empty if nothing is.
std::string FindNonsense(const FitRecord& record) {
  const auto batch = static_cast<std::uint64_t>(record.batch);
  const std::uint64_t counted = record.report.batches;
  if (record.batches_per_epoch && record.batch > *record.batches_per_epoch) {
    return absl::StrCat("it is at batch ", batch, " of ",
                        *record.batches_per_epoch);
  }
  if (record.block_batch > record.batch) {
    return absl::StrCat("it is at batch ", batch, " with steps that begin at ",
                        record.block_batch);
  }
  if (counted > batch ||
      counted > static_cast<std::uint64_t>(record.iterations)) {
    return absl::StrCat("it is at batch ", batch, ", with ", counted,
                        " batches counted in the epoch and ", record.iterations,
                        " in all");
  }
  return {};
}

// JSON cannot represent NaN; it is written as null.
double NumberOf(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN()
                        : json.get<double>();
}

Json ToJson(const StepReport& report) {
  Json states = Json::array();
  // Between two epochs the states are empty.
  if (report.batches > 0) states = report.metric_states;
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
  report.batches = WholeOf<std::uint64_t>(json, "batches");
  report.examples = WholeOf<std::uint64_t>(json, "examples");
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

// The size in the job's record, in which the JSON is a string, so quotes are
// escaped.
size_t SizeInRecord(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, kReplace);
  return text.size() +
         static_cast<size_t>(std::count(text.begin(), text.end(), '"'));
}

// The newest rows that fit into `room`.
Json ToJson(const History& history, size_t& room) {
  Json rows = Json::array();
  for (size_t i = history.epochs().size(); i-- > 0;) {
    Json row = {history.epochs()[i], history.rows()[i]};
    const size_t size = SizeInRecord(row) + 1;
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

// The size of one call in `past`, without its rows, in bytes.
constexpr size_t kCallText = 26;

void CheckCallbacks(const FitRecord& record) {
  size_t sum = 0;
  const std::pair<std::string, std::string>* largest = nullptr;
  for (const auto& callback : record.callbacks) {
    sum += callback.first.size() + callback.second.size();
    if (largest == nullptr || callback.second.size() > largest->second.size()) {
      largest = &callback;
    }
  }
  if (sum <= kMostCallbackText) return;
  throw Error(
      ErrorCode::kResourceExhausted,
      absl::StrCat("the states of callbacks have ", sum,
                   " bytes, of which the state of '", largest->first, "' has ",
                   largest->second.size(), ": at most ", kMostCallbackText,
                   " are kept, so keep more in a file of your own"));
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

std::string EncodeFitRecord(const FitRecord& record, size_t history_room) {
  CheckCallbacks(record);
  size_t room = history_room;
  Json history = ToJson(record.history, room);
  Json past = Json::array();
  for (auto call = record.past.rbegin(); call != record.past.rend(); ++call) {
    if (room < kCallText) break;
    room -= kCallText;
    past.push_back({call->first, ToJson(call->second, room)});
  }
  Json json = {{"call", record.call},
               {"done", record.done},
               {"stopped", record.stopped},
               {"epochs", record.epochs},
               {"restoring", record.restoring},
               {"epoch", record.epoch},
               {"batch", record.batch},
               {"data", record.data},
               {"block_batch", record.block_batch},
               {"steps_per_execution", record.steps_per_execution},
               {"iterations", record.iterations},
               {"shuffle_seed", record.shuffle_seed},
               {"report", ToJson(record.report)},
               {"history", std::move(history)},
               {"callbacks", record.callbacks},
               {"past", std::move(past)}};
  if (record.batches_per_epoch) {
    json["batches_per_epoch"] = *record.batches_per_epoch;
  }
  if (record.learning_rate) json["learning_rate"] = *record.learning_rate;
  return json.dump(-1, ' ', false, kReplace);
}

PartText FitRecordPart(const FitRecord& record) {
  return {EncodeFitRecord(record), EncodeFitRecord(record, 0)};
}

FitRecord DecodeFitRecord(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    FitRecord record;
    record.call = WholeOf<std::uint64_t>(json, "call");
    record.done = json.at("done").get<bool>();
    record.epoch = WholeOf<int>(json, "epoch");
    record.batch = WholeOf<std::int64_t>(json, "batch");
    record.block_batch = WholeOf<std::int64_t>(json, "block_batch");
    record.steps_per_execution = WholeOf<int>(json, "steps_per_execution", 1);
    record.iterations = WholeOf<std::int64_t>(json, "iterations");
    record.report = ReportOf(json.at("report"));
    record.history = HistoryOf(json.at("history"));
    // Records of 0.1 lack the fields that are optional from here on.
    record.stopped = json.value("stopped", false);
    record.epochs =
        json.contains("epochs") ? WholeOf<int>(json, "epochs") : record.epoch;
    if (json.contains("batches_per_epoch")) {
      record.batches_per_epoch =
          WholeOf<std::int64_t>(json, "batches_per_epoch", 1);
    }
    record.data = json.value("data", "");
    if (json.contains("shuffle_seed")) {
      record.shuffle_seed = WholeOf<std::uint64_t>(json, "shuffle_seed");
    }
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
    const std::string nonsense = FindNonsense(record);
    if (nonsense.empty()) return record;
    throw Error(
        ErrorCode::kDataLoss,
        absl::StrCat("the record of a training makes no sense: ", nonsense));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kDataLoss,
                absl::StrCat("the record of a training cannot be read: ",
                             error.what()));
  }
}

}  // namespace capstan
