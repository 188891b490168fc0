#include "server/applied_steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace capstan {

absl::Status AppliedSteps::CheckRoom(uint64_t watermark) {
  if (above_.size() < kMost) return absl::OkStatus();
  Purge(watermark);
  if (above_.size() < kMost) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      above_.size(), " updates since step ", watermark,
      ", up to which the coordinator has said that all is done; it must move "
      "this watermark before there can be more"));
}

void AppliedSteps::Add(uint64_t step, uint32_t push, uint64_t watermark) {
  if (above_.size() >= purge_at_) Purge(watermark);
  above_.emplace(step, push);
}

void AppliedSteps::Purge(uint64_t watermark) {
  absl::erase_if(above_, [watermark](const std::pair<uint64_t, uint32_t>& id) {
    return id.first <= watermark;
  });
  purge_at_ = std::max<size_t>(1024, 2 * above_.size());
}

}  // namespace capstan
