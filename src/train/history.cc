#include <fmt/format.h>

#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "capstan/error.h"
#include "capstan/trainer.h"
#include "train/json_text.h"

namespace capstan {

const std::vector<double>& History::operator[](std::string_view name) const {
  const auto found = series_.find(std::string(name));
  if (found != series_.end()) return found->second;
  throw Error(
      ErrorCode::kNotFound,
      absl::StrCat(
          "the history has no '", std::string(name), "'; it has ",
          absl::StrJoin(series_, ", ", [](std::string* out, const auto& one) {
            absl::StrAppend(out, one.first);
          })));
}

void History::Add(int epoch, const Logs& logs) {
  epochs_.push_back(epoch);
  rows_.push_back(logs);
  for (const auto& [name, value] : logs) series_[name].push_back(value);
}

std::string History::ToCsv() const {
  std::string text = "epoch";
  for (const auto& [name, values] : series_) absl::StrAppend(&text, ",", name);
  text += '\n';
  for (size_t i = 0; i < epochs_.size(); ++i) {
    absl::StrAppend(&text, epochs_[i]);
    for (const auto& [name, values] : series_) {
      text += ',';
      const auto found = rows_[i].find(name);
      if (found != rows_[i].end()) text += fmt::format("{}", found->second);
    }
    text += '\n';
  }
  return text;
}

std::string History::ToJson() const {
  std::string text =
      absl::StrCat("{\"epoch\": [", absl::StrJoin(epochs_, ", "), "]");
  for (const auto& [name, values] : series_) {
    absl::StrAppend(&text, ", ", JsonString(name), ": [");
    const char* between = "";
    for (const double value : values) {
      absl::StrAppend(&text, between, JsonNumber(value));
      between = ", ";
    }
    text += ']';
  }
  return text + "}";
}

}  // namespace capstan
