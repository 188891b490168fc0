#include "server/shard/shard.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "server/shard/arithmetic.h"
#include "server/shard/gather_rows.h"
#include "server/shard/sum_rows.h"
#include "variable/initialize.h"

namespace capstan {

Shard::Shard(const VariableEntry& entry, uint32_t index,
             std::shared_ptr<MemoryBudget> budget)
    : key_{.variable = entry.id, .shard = index},
      spec_(entry.spec),
      place_(entry.shards[index]),
      rows_(static_cast<size_t>(place_.end - place_.begin)),
      row_elements_(static_cast<size_t>(entry.spec.shape.row_elements())),
      budget_(std::move(budget)),
      applied_(budget_) {
  report_.name = spec_.name;
  report_.shard = index;
}

std::string Shard::Name() const {
  return absl::StrCat("variable '", spec_.name, "', shard ", key_.shard);
}

absl::StatusOr<std::shared_ptr<Values>> Shard::AllocatePart(
    size_t part, enum Fill fill) const {
  const uint64_t bytes = part_bytes(part);
  std::optional<BudgetShare> share = BudgetShare::Take(budget_, bytes);
  if (!share) {
    return absl::ResourceExhaustedError(absl::StrCat(
        Name(), ": ", bytes, " bytes are needed, and of the limit of ",
        budget_->limit(), " for variables on this server ", budget_->used(),
        " are used: start more servers, or raise its --memory"));
  }
  return AllocateIn(*std::move(share), part, fill);
}

absl::StatusOr<std::shared_ptr<Values>> Shard::AllocateIn(
    BudgetShare share, size_t part, enum Fill fill) const {
  absl::StatusOr<Buffer> memory = Buffer::Allocate(part_bytes(part), fill);
  if (!memory.ok()) return WithContext(memory.status(), Name());
  auto values = std::make_shared<Values>();
  values->memory = *std::move(memory);
  values->share = std::move(share);
  return values;
}

absl::StatusOr<std::shared_ptr<Shard>> Shard::Create(
    const VariableEntry& entry, uint32_t index,
    std::shared_ptr<MemoryBudget> budget) {
  std::shared_ptr<Shard> shard(new Shard(entry, index, std::move(budget)));
  if (shard->spec_.optimizer) {
    absl::StatusOr<std::unique_ptr<const Updater>> updater =
        Updater::Make(*shard->spec_.optimizer);
    if (!updater.ok()) return WithContext(updater.status(), shard->Name());
    shard->updater_ = *std::move(updater);
    const std::span<const SlotInfo> slots = shard->updater_->slots();
    shard->slot_infos_.assign(slots.begin(), slots.end());
  }
  for (size_t part = 0; part < shard->num_parts(); ++part) {
    absl::StatusOr<std::shared_ptr<Values>> memory =
        shard->AllocatePart(part, part == 0 ? Fill::kNone : Fill::kZero);
    if (!memory.ok()) return memory.status();
    shard->Part(part) = *std::move(memory);
    shard->report_.bytes += shard->part_bytes(part);
  }
  return shard;
}

absl::Status Shard::Fill(size_t begin, size_t end) {
  MutableBytes into = values_->memory.mutable_bytes();
  CAPSTAN_RETURN_IF_ERROR(Initialize(
      spec_, place_.begin + static_cast<int64_t>(begin),
      place_.begin + static_cast<int64_t>(end),
      into.subspan(begin * row_bytes(), (end - begin) * row_bytes())));
  for (size_t i = 0; i < num_slots(); ++i) {
    const float initial = slot_infos_[i].initial;
    if (initial == 0) continue;  // memory is zero already, and not yet touched
    auto* slot = reinterpret_cast<float*>(slots_[i]->memory.data());
    std::fill(slot + begin * row_elements_, slot + end * row_elements_,
              initial);
  }
  if (end == rows_ && !std::holds_alternative<Unset>(spec_.initializer)) {
    version_ = 1;
  }
  return absl::OkStatus();
}

void Shard::Drop() {
  dropped_ = true;
  values_ = nullptr;
  slots_ = {};
  FreeSpares();
  ReleaseReserves();
  staged_.clear();
  applied_.Forget(UINT64_MAX);
  EndStream();
}

absl::Status Shard::CheckReadable() const {
  if (dropped_) {
    return absl::AbortedError(
        absl::StrCat(Name(), " is not here any more: the shard map is old"));
  }
  if (version_ == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        Name(),
        " has no values yet: it was created without an initializer, "
        "and must be assigned first"));
  }
  return absl::OkStatus();
}

void Shard::Gather(std::span<const uint32_t> rows, std::byte* out) const {
  GatherRows(values_->memory.data(), row_bytes(), rows, out);
}

absl::StatusOr<std::shared_ptr<Values>> Shard::NewVersion(size_t part) {
  if (HasSpare(part)) return std::move(Spare(part));
  if (reserves_[part]) {
    BudgetShare share = *std::move(reserves_[part]);
    reserves_[part].reset();
    return AllocateIn(std::move(share), part, Fill::kNone);
  }
  return AllocatePart(part, Fill::kNone);
}

absl::Status Shard::MakeWritable(size_t parts) {
  for (size_t part = 0; part < parts; ++part) {
    if (!Part(part)->leased()) continue;
    absl::StatusOr<std::shared_ptr<Values>> copy = NewVersion(part);
    if (!copy.ok()) return copy.status();
    const Bytes from = Part(part)->memory.bytes();
    if (!from.empty()) {
      std::memcpy((*copy)->memory.data(), from.data(), from.size());
    }
    Replace(part, *std::move(copy));
    KeepSpareIfWorth(part);
  }
  return absl::OkStatus();
}

ShardResult Shard::Answer(Outcome outcome) const {
  ShardResult result;
  result.outcome = outcome;
  result.version = version_;
  return result;
}

ShardResult Shard::Refuse(absl::Status status) const {
  ShardResult result;
  result.status = std::move(status);
  return result;
}

void Shard::CountStaleness(uint64_t staleness) {
  const auto bucket = static_cast<size_t>(std::bit_width(staleness));
  ++report_.staleness[std::min(bucket, report_.staleness.size() - 1)];
}

void Shard::Record(uint64_t step, uint32_t push, uint64_t watermark) {
  applied_.Add(step, push, watermark);
  expected_whole_.erase({step, push});
  last_step_ = std::max(last_step_, step);
}

ShardResult Shard::Applied(const UpdateId& id, uint64_t watermark) {
  Record(id.step, id.push, watermark);
  ++report_.applied;
  ++version_;
  return Answer(Outcome::kApplied);
}

ShardResult Shard::Apply(const ShardUpdate& update, uint64_t watermark,
                         const Executor& home) {
  if (dropped_) return Refuse(CheckReadable());
  if (applied_.Contains(update.id.step, update.id.push, watermark)) {
    ++report_.duplicates;
    return Answer(Outcome::kAlreadyApplied);
  }
  if (stream_ != nullptr && update.urgent) InterruptStream();
  if (stream_ != nullptr || copying_) {
    // It may be this very update that is under way.
    ShardResult result;
    result.wait = std::make_shared<Signal>(home);
    waiting_.push_back(result.wait);
    return result;
  }
  const bool sets_all = update.operation == Operation::kSet && !update.by_rows;
  if (!sets_all) {
    absl::Status readable = CheckReadable();
    if (!readable.ok()) return Refuse(std::move(readable));
  }
  absl::Status room = applied_.CheckRoom(watermark);
  if (!room.ok()) return Refuse(WithContext(room, Name()));
  if (update.skip) {
    ++report_.skipped;
    Record(update.id.step, update.id.push, watermark);
    return Answer(Outcome::kSkipped);
  }
  const bool gradient = update.operation == Operation::kGradient;
  if (gradient && std::holds_alternative<Sync>(spec_.update)) {
    return Stage(update);
  }
  if ((!gradient || update.by_rows) && NeedsLargeCopy()) {
    ShardResult result;
    result.copy_first = true;
    return result;
  }
  uint64_t staleness = 0;
  if (update.based_on != 0 && update.based_on <= version_) {
    staleness = version_ - update.based_on;
  }
  absl::Status status =
      gradient ? ApplyGradient(update, staleness) : ApplyElements(update);
  if (!status.ok()) return Refuse(std::move(status));
  if (gradient && update.based_on != 0) CountStaleness(staleness);
  return Applied(update.id, watermark);
}

absl::Status Shard::ApplyGradient(const ShardUpdate& update,
                                  uint64_t staleness) {
  if (!update.by_rows) {
    return ApplyDense(update.dtype, update.values, update.scale, staleness);
  }
  RowsUpdate rows;
  rows.gradient_dtype = update.dtype;
  rows.gradients = update.values.data();
  rows.rows = update.rows;
  if (!HasDuplicates(update.rows)) {
    return ApplyRows(rows, update.scale, staleness);
  }
  const RowGradients batch = {.rows = update.rows,
                              .dtype = update.dtype,
                              .values = update.values.data()};
  const RowSums sums = SumRows(std::span(&batch, 1), row_elements_);
  rows.gradient_dtype = DType::kF32;
  rows.gradients = reinterpret_cast<const std::byte*>(sums.values.data());
  rows.rows = sums.rows;
  return ApplyRows(rows, update.scale, staleness);
}

absl::Status Shard::ApplyDense(DType dtype, Bytes gradient, double scale,
                               uint64_t staleness) {
  // A leased part gets its new version in other memory.
  std::array<std::shared_ptr<Values>, kMaxParts> out;
  for (size_t part = 0; part < num_parts(); ++part) {
    out[part] = Part(part);
    if (!out[part]->leased()) continue;
    absl::StatusOr<std::shared_ptr<Values>> version = NewVersion(part);
    if (!version.ok()) return version.status();
    out[part] = *std::move(version);
  }
  DenseUpdate dense;
  dense.gradient_dtype = dtype;
  dense.gradient = gradient.data();
  dense.size = elements();
  dense.value_in = reinterpret_cast<const float*>(values_->memory.data());
  dense.value_out = reinterpret_cast<float*>(out[0]->memory.data());
  for (size_t i = 0; i < num_slots(); ++i) {
    dense.slots_in[i] =
        reinterpret_cast<const float*>(slots_[i]->memory.data());
    dense.slots_out[i] = reinterpret_cast<float*>(out[i + 1]->memory.data());
  }
  updater_->Dense(updater_->Begin(state_, scale, staleness), dense);
  updater_->Advance(state_);
  for (size_t part = 0; part < num_parts(); ++part) {
    if (out[part] != Part(part)) Replace(part, std::move(out[part]));
  }
  return absl::OkStatus();
}

absl::Status Shard::ApplyRows(const RowsUpdate& update, double scale,
                              uint64_t staleness) {
  CAPSTAN_RETURN_IF_ERROR(MakeWritable(num_parts()));
  RowsUpdate rows = update;
  rows.row_size = row_elements_;
  rows.num_rows = rows_;
  rows.values = reinterpret_cast<float*>(values_->memory.data());
  for (size_t i = 0; i < num_slots(); ++i) {
    rows.slots[i] = reinterpret_cast<float*>(slots_[i]->memory.data());
  }
  updater_->Rows(updater_->Begin(state_, scale, staleness), rows);
  updater_->Advance(state_);
  return absl::OkStatus();
}

absl::Status Shard::ApplyElements(const ShardUpdate& update) {
  CAPSTAN_RETURN_IF_ERROR(MakeWritable(1));
  std::byte* into = values_->memory.data();
  if (!update.by_rows) {
    ApplyOperation(spec_.dtype, update.operation, elements(),
                   update.values.data(), into);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < update.rows.size(); ++i) {
    ApplyOperation(spec_.dtype, update.operation, row_elements_,
                   update.values.data() + i * row_bytes(),
                   into + update.rows[i] * row_bytes());
  }
  return absl::OkStatus();
}

bool Shard::HasDuplicates(std::span<const uint32_t> rows) {
  if (seen_.empty()) seen_.resize((rows_ + 63) / 64);
  bool duplicate = false;
  for (const uint32_t row : rows) {
    uint64_t& word = seen_[row / 64];
    const uint64_t bit = uint64_t{1} << (row % 64);
    duplicate |= (word & bit) != 0;
    word |= bit;
  }
  for (const uint32_t row : rows) seen_[row / 64] = 0;
  return duplicate;
}

VariableReport Shard::Report() const {
  VariableReport report = report_;
  report.version = version_;
  return report;
}

}  // namespace capstan
