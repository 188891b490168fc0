// The part of a shard that applies a gradient as it arrives, to memory beside
// its own.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/shard/shard.h"

namespace capstan {
namespace {

// How many interrupted updates are remembered. There is one stream at a time,
// so to exceed this, that many senders would have to be slow at once.
constexpr size_t kMostExpected = 1024;

absl::Status Interrupted(const Shard& shard) {
  return absl::UnavailableError(absl::StrCat(
      shard.Name(),
      " took another update while this one was still arriving; send it again"));
}

}  // namespace

std::shared_ptr<StreamedUpdate> Shard::BeginStream(const UpdateId& id,
                                                   float scale,
                                                   uint64_t based_on,
                                                   uint64_t watermark,
                                                   ShardResult& result) {
  if (dropped_ || version_ == 0 || stream_ != nullptr || copying_) {
    return nullptr;
  }
  if (applied_.Contains(id.step, id.push, watermark)) {
    ++report_.duplicates;
    result = Answer(Outcome::kAlreadyApplied);
    return nullptr;
  }
  if (expected_whole_.contains({id.step, id.push})) return nullptr;
  if (!applied_.CheckRoom(watermark).ok()) return nullptr;
  if (!HasRoomToStream()) return nullptr;
  auto stream = std::make_shared<StreamedUpdate>();
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
  stream_ = stream;
  return stream;
}

absl::Status Shard::StreamPiece(StreamedUpdate& stream, size_t offset,
                                DType dtype, Bytes gradient) const {
  const std::lock_guard lock(stream.mutex);
  if (stream.interrupted) return Interrupted(*this);
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
  return absl::OkStatus();
}

ShardResult Shard::CommitStream(StreamedUpdate& stream, bool skip,
                                uint64_t watermark) {
  if (dropped_) return Refuse(CheckReadable());
  const bool interrupted = stream_.get() != &stream;
  AbortStream(stream);
  if (applied_.Contains(stream.id.step, stream.id.push, watermark)) {
    // Its step was cancelled and ended after the update began to arrive; or the
    // update also came another way.
    ++report_.duplicates;
    return Answer(Outcome::kAlreadyApplied);
  }
  if (interrupted) {
    ExpectWhole(stream.id, watermark);
    return Refuse(Interrupted(*this));
  }
  if (stream.old_values != values_) {
    // The values that it was computed from have been replaced.
    return Refuse(absl::UnavailableError(absl::StrCat(
        Name(), " was restored while an update arrived; send it again")));
  }
  if (skip) {
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
  return Applied(stream.id, watermark);
}

void Shard::AbortStream(const StreamedUpdate& stream) {
  if (stream_.get() == &stream) EndStream();
}

void Shard::InterruptStream() {
  {
    // The sender's thread holds it for one piece at most.
    const std::lock_guard lock(stream_->mutex);
    stream_->interrupted = true;
  }
  // Nobody uses the stream's memory from here on.
  if (stream_->old_values == values_) {
    Spare(0) = std::move(stream_->values);
    for (size_t i = 0; i < num_slots(); ++i) {
      Spare(i + 1) = std::move(stream_->slots[i]);
    }
  }
  stream_->old_values = nullptr;
  stream_->old_slots = {};
  EndStream();
}

void Shard::ExpectWhole(const UpdateId& id, uint64_t watermark) {
  if (applied_.Contains(id.step, id.push, watermark)) return;
  std::erase_if(expected_whole_, [watermark](const auto& expected) {
    return expected.first <= watermark;
  });
  // Dropping the others matters only if all of them begin again at once.
  if (expected_whole_.size() >= kMostExpected) expected_whole_.clear();
  expected_whole_.emplace(id.step, id.push);
}

void Shard::EndStream() {
  stream_ = nullptr;
  WakeWaiting();
}

void Shard::WakeWaiting() {
  for (const std::shared_ptr<Signal>& signal : std::exchange(waiting_, {})) {
    signal->Set();
  }
}

}  // namespace capstan
