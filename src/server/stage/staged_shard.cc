#include "server/stage/staged_shard.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "wire/check_operands.h"

namespace capstan {

absl::Status StagedShard::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat(shard_.Name(), ": the restore is over"));
}

absl::Status StagedShard::MakeRoom(size_t part, enum Fill fill) {
  if (parts_[part].memory != nullptr) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<Values>> memory =
      shard_.AllocatePart(part, fill);
  if (!memory.ok()) return memory.status();
  parts_[part].memory = *std::move(memory);
  return absl::OkStatus();
}

bool StagedShard::AsksForSpares() {
  const std::lock_guard lock(mutex_);
  return !std::exchange(asked_, true);
}

void StagedShard::Lend(Parts spares) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  for (size_t part = 0; part < kMaxParts; ++part) {
    std::shared_ptr<Values>& memory = parts_[part].memory;
    if (memory == nullptr) memory = std::move(spares[part]);
  }
}

absl::Status StagedShard::BeginRows(size_t part, uint64_t begin, uint64_t end) {
  const std::lock_guard lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(CheckOpen());
  CAPSTAN_RETURN_IF_ERROR(MakeRoom(part, Fill::kNone));
  parts_[part].rows.Remove(begin, end);
  return absl::OkStatus();
}

absl::Status StagedShard::Write(size_t part, uint64_t offset, Bytes bytes) {
  if (shard_.part_dtype(part) == DType::kBool) {
    CAPSTAN_RETURN_IF_ERROR(WithContext(
        CheckOperands(DType::kBool, Operation::kSet, bytes), shard_.Name()));
  }
  const std::lock_guard lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(CheckOpen());
  if (bytes.empty()) return absl::OkStatus();
  std::memcpy(parts_[part].memory->memory.data() + offset, bytes.data(),
              bytes.size());
  return absl::OkStatus();
}

absl::Status StagedShard::Fill(
    size_t part, uint64_t offset, size_t size,
    const std::function<absl::Status(MutableBytes into)>& fill) {
  const std::lock_guard lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(CheckOpen());
  return fill(
      parts_[part].memory->memory.mutable_bytes().subspan(offset, size));
}

absl::Status StagedShard::EndRows(size_t part, uint64_t begin, uint64_t end) {
  const std::lock_guard lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(CheckOpen());
  parts_[part].rows.Add(begin, end);
  return absl::OkStatus();
}

absl::Status StagedShard::CheckWhole(bool slots) const {
  const std::lock_guard lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(CheckOpen());
  const size_t parts = slots ? shard_.num_parts() : 1;
  for (size_t part = 0; part < parts; ++part) {
    const auto missing = parts_[part].rows.FirstMissing(shard_.rows());
    if (!missing) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        shard_.Name(), ": rows [", missing->first, ", ", missing->second,
        ") of ",
        part == 0 ? std::string("the values")
                  : absl::StrCat("slot '",
                                 std::string(shard_.slot_info(part).name), "'"),
        " were not staged; nothing is restored"));
  }
  return absl::OkStatus();
}

absl::Status StagedShard::ResetSlots() {
  const std::lock_guard lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(CheckOpen());
  for (size_t part = 1; part < shard_.num_parts(); ++part) {
    const float initial = shard_.slot_info(part).initial;
    parts_[part] = {};
    CAPSTAN_RETURN_IF_ERROR(
        MakeRoom(part, initial == 0 ? Fill::kZero : Fill::kNone));
    if (initial == 0) continue;
    auto* slot = reinterpret_cast<float*>(parts_[part].memory->memory.data());
    std::fill_n(slot, shard_.elements(), initial);
  }
  return absl::OkStatus();
}

absl::StatusOr<StagedShard::Parts> StagedShard::Take() {
  const std::lock_guard lock(mutex_);
  CAPSTAN_RETURN_IF_ERROR(CheckOpen());
  Parts taken;
  for (size_t part = 0; part < shard_.num_parts(); ++part) {
    // A part without rows had nothing staged.
    CAPSTAN_RETURN_IF_ERROR(MakeRoom(part, Fill::kNone));
    taken[part] = std::move(parts_[part].memory);
  }
  closed_ = true;
  return taken;
}

void StagedShard::Close() {
  std::array<Part, kMaxParts> gone;  // freed without the lock
  const std::lock_guard lock(mutex_);
  closed_ = true;
  gone = std::exchange(parts_, {});
}

}  // namespace capstan
