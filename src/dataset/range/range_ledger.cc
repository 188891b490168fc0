#include "dataset/range/range_ledger.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan {

RangeLedger::RangeLedger(const DataRangesOptions& options)
    : options_(options), ranges_per_epoch_(RangesPerEpoch(options)) {}

std::optional<RangeLedger::Lease> RangeLedger::Take() {
  const std::lock_guard lock(mutex_);
  if (!back_.empty()) {
    const RangeId id = *back_.begin();
    out_.insert(back_.extract(back_.begin()));
    return MakeLease(id);
  }
  if (next_ == ranges_per_epoch_) {
    ++epoch_;
    next_ = 0;
    return std::nullopt;
  }
  const RangeId id = {epoch_, next_};
  out_.insert(id);
  ++next_;
  return MakeLease(id);
}

void RangeLedger::Done(uint64_t term, const RangeId& id) noexcept {
  const std::lock_guard lock(mutex_);
  if (term == term_) out_.erase(id);
}

void RangeLedger::GiveBack(uint64_t term, const RangeId& id) noexcept {
  const std::lock_guard lock(mutex_);
  if (term == term_) back_.insert(out_.extract(id));
}

absl::Status RangeLedger::GoTo(const RangePosition& position) {
  const std::string ours = DescribeOptions(options_);
  const std::string theirs = DescribeOptions(position.options);
  if (ours != theirs) {
    return absl::FailedPreconditionError(
        absl::StrCat("the position is of other data: it has ", theirs,
                     ", and this DataRanges has ", ours));
  }
  std::set<RangeId> back(position.open.begin(), position.open.end());
  const std::lock_guard lock(mutex_);
  ++term_;
  epoch_ = position.epoch;
  next_ = position.next;
  out_.clear();
  back_ = std::move(back);
  return absl::OkStatus();
}

RangePosition RangeLedger::position() const {
  const std::lock_guard lock(mutex_);
  RangePosition position{options_, epoch_, next_, {}};
  position.open.reserve(out_.size() + back_.size());
  std::ranges::merge(out_, back_, std::back_inserter(position.open));
  return position;
}

uint64_t RangeLedger::epoch() const {
  const std::lock_guard lock(mutex_);
  return epoch_;
}

size_t RangeLedger::num_out() const {
  const std::lock_guard lock(mutex_);
  return out_.size();
}

RangeLedger::Lease RangeLedger::MakeLease(const RangeId& id) const {
  return {term_, RangeAt(options_, id)};
}

}  // namespace capstan
