// The part of a shard that applies a gradient as it arrives, to memory beside
// its own.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/shard.h"

namespace capstan {

std::unique_ptr<StreamedUpdate> Shard::BeginStream(const UpdateId& id,
                                                   float scale,
                                                   uint64_t based_on,
                                                   uint64_t watermark,
                                                   ShardResult& result) {
  if (dropped_ || version_ == 0 || streaming_ || copying_) return nullptr;
  if (applied_.Contains(id.step, id.push, watermark)) {
    ++report_.duplicates;
    result = Answer(Outcome::kAlreadyApplied);
    return nullptr;
  }
  if (!applied_.CheckRoom(watermark).ok()) return nullptr;
  if (!HasRoomToStream()) return nullptr;
  auto stream = std::make_unique<StreamedUpdate>();
  absl::StatusOr<std::shared_ptr<Values>> memory = NewVersion(0);
  if (!memory.ok()) return nullptr;
  stream->values = *std::move(memory);
  for (size_t i = 0; i < num_slots(); ++i) {
    memory = NewVersion(i + 1);
    if (!memory.ok()) return nullptr;
    stream->slots[i] = *std::move(memory);
  }
  stream->old_values = values_;
  std::copy(slots_.begin(), slots_.end(), stream->old_slots.begin());
  stream->id = id;
  if (based_on != 0 && based_on <= version_) {
    stream->staleness_known = true;
    stream->staleness = version_ - based_on;
  }
  stream->updater = updater_;
  stream->step = updater_->Begin(state_, scale, stream->staleness);
  streaming_ = true;
  return stream;
}

void Shard::StreamPiece(const StreamedUpdate& stream, size_t offset,
                        DType dtype, Bytes gradient) const {
  DenseUpdate dense;
  dense.gradient_dtype = dtype;
  dense.gradient = gradient.data();
  dense.size = gradient.size() / SizeOf(dtype);
  dense.value_in =
      reinterpret_cast<const float*>(stream.old_values->memory.data()) + offset;
  dense.value_out =
      reinterpret_cast<float*>(stream.values->memory.data()) + offset;
  for (size_t i = 0; i < num_slots(); ++i) {
    dense.slots_in[i] =
        reinterpret_cast<const float*>(stream.old_slots[i]->memory.data()) +
        offset;
    dense.slots_out[i] =
        reinterpret_cast<float*>(stream.slots[i]->memory.data()) + offset;
  }
  stream.updater->Dense(stream.step, dense);
}

ShardResult Shard::CommitStream(StreamedUpdate& stream, bool skip,
                                uint64_t watermark) {
  if (dropped_) return Refuse(CheckReadable());
  if (stream.old_values != values_) {
    // What it was computed from is not here any more.
    AbortStream();
    return Refuse(absl::UnavailableError(absl::StrCat(
        Name(), " was restored while an update arrived; send it again")));
  }
  if (applied_.Contains(stream.id.step, stream.id.push, watermark)) {
    // Its step was called off, and is over since it began to arrive.
    AbortStream();
    ++report_.duplicates;
    return Answer(Outcome::kAlreadyApplied);
  }
  if (skip) {
    AbortStream();
    ++report_.skipped;
    Record(stream.id.step, stream.id.push, watermark);
    return Answer(Outcome::kSkipped);
  }
  Replace(0, std::move(stream.values));
  for (size_t i = 0; i < num_slots(); ++i) {
    Replace(i + 1, std::move(stream.slots[i]));
  }
  updater_->Advance(state_);
  if (stream.staleness_known) CountStaleness(stream.staleness);
  AbortStream();
  return Applied(stream.id, watermark);
}

void Shard::AbortStream() {
  streaming_ = false;
  WakeWaiting();
}

void Shard::WakeWaiting() {
  for (const std::shared_ptr<Signal>& signal : std::exchange(waiting_, {})) {
    signal->Set();
  }
}

}  // namespace capstan
