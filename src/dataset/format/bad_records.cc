#include "capstan/dataset.h"

namespace capstan {

BadRecords BadRecords::Skip() {
  BadRecords skip;
  skip.skipped_ = std::make_shared<std::atomic<std::int64_t>>(0);
  return skip;
}

std::int64_t BadRecords::skipped() const noexcept {
  return skipped_ == nullptr ? 0 : skipped_->load();
}

void BadRecords::Count() const noexcept {
  if (skipped_ != nullptr) skipped_->fetch_add(1);
}

}  // namespace capstan
