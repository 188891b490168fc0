#include "launch/local/task_output.h"

#include "base/bytes.h"

namespace capstan {

absl::Status TaskOutput::Take(std::string_view bytes) {
  absl::Status status;
  if (log_ != nullptr) {
    status = log_->Append(AsBytes(bytes));
    if (!status.ok()) log_.reset();
  }
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    AddToLine(bytes.substr(0, end));
    if (end == std::string_view::npos) break;
    EndLine();
    bytes.remove_prefix(end + 1);
  }
  return status;
}

void TaskOutput::End() {
  if (!line_.empty() || skipping_) EndLine();
}

void TaskOutput::AddToLine(std::string_view part) {
  if (skipping_) return;
  const size_t room = kMaxLine - line_.size();
  line_ += part.substr(0, room);
  if (part.size() <= room) return;
  // Shown now, because the line may never end.
  line_ += "... (cut; the log has it whole)";
  ShowLine();
  skipping_ = true;
}

void TaskOutput::EndLine() {
  if (!skipping_) ShowLine();
  skipping_ = false;
}

void TaskOutput::ShowLine() {
  screen_->ShowLine(task_, line_);
  last_lines_.Add(line_);
  line_.clear();
}

}  // namespace capstan
