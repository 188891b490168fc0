#include "launch/local/failure_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace capstan {
namespace {

// Headlines between the first failure and the chief's.
constexpr size_t kMostBetween = 4;

bool IsBlank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

FailureText WithLog(std::string_view prefix, const TaskFailure& failure) {
  const std::vector<std::string>& lines = failure.last_lines;
  const bool wrote = !std::all_of(lines.begin(), lines.end(), IsBlank);
  const std::string_view rest = wrote ? "; the end of " : "; it wrote nothing";
  FailureText text;
  text.headline = fmt::format("{}{}{}", prefix, failure.what, rest);
  if (!wrote) return text;
  text.headline += failure.log + ":";
  text.details = lines;
  return text;
}

}  // namespace

void FailureList::Add(TaskFailure failure) {
  const auto found = std::find_if(
      failures_.begin(), failures_.end(),
      [&](const TaskFailure& it) { return it.task == failure.task; });
  if (found == failures_.end()) {
    failures_.push_back(std::move(failure));
  } else {
    *found = std::move(failure);
  }
}

void FailureList::Remove(TaskId task) {
  std::erase_if(failures_,
                [task](const TaskFailure& it) { return it.task == task; });
}

std::string FailureList::first() const {
  return failures_.empty() ? "" : failures_.front().what;
}

std::vector<FailureText> FailureList::Report() const {
  std::vector<FailureText> report;
  if (failures_.empty()) return report;
  report.push_back(WithLog("first failure: ", failures_.front()));
  const TaskFailure* chief = nullptr;
  size_t between = 0;
  for (auto it = failures_.begin() + 1; it != failures_.end(); ++it) {
    if (it->task.role == Role::kChief) {
      chief = &*it;
    } else if (++between <= kMostBetween) {
      report.push_back(
          {fmt::format("then {}; its log is {}", it->what, it->log)});
    }
  }
  if (between > kMostBetween) {
    const size_t more = between - kMostBetween;
    report.push_back({fmt::format("then {} more task{} failed", more,
                                  more == 1 ? "" : "s")});
  }
  if (chief != nullptr) report.push_back(WithLog("then ", *chief));
  return report;
}

}  // namespace capstan
