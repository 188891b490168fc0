#include "simulate/frame_bender.h"

#include <algorithm>
#include <cstring>

namespace capstan::simulate {
namespace {

constexpr double kSwapChance = 0.02;
constexpr double kCorruptChance = 0.02;

uint64_t BytesAfter(const FrameHeader& header) {
  if (header.kind == FrameKind::kData) return header.attachment_bytes;
  return PrefixBytes(header) + (IsInline(header) ? header.attachment_bytes : 0);
}

}  // namespace

void FrameTracker::Pass(
    Bytes bytes, const std::function<void(const FrameHeader&)>& on_header) {
  while (!bytes.empty()) {
    if (left_ > 0) {
      const auto part = std::min<uint64_t>(left_, bytes.size());
      left_ -= part;
      bytes = bytes.subspan(static_cast<size_t>(part));
      continue;
    }
    const size_t part = std::min(kHeaderBytes - header_bytes_, bytes.size());
    std::memcpy(header_.data() + header_bytes_, bytes.data(), part);
    header_bytes_ += part;
    bytes = bytes.subspan(part);
    if (header_bytes_ < kHeaderBytes) continue;
    header_bytes_ = 0;
    const absl::StatusOr<FrameHeader> header = DecodeHeader(header_, {});
    if (!header.ok()) continue;
    left_ = BytesAfter(*header);
    on_header(*header);
  }
}

void FrameBender::OnReceived(Bytes bytes) {
  received_.Pass(bytes, [this](const FrameHeader& header) {
    if (header.kind == FrameKind::kRequest) open_.insert(header.request_id);
  });
}

Bytes FrameBender::Bend(std::span<const Bytes> from) {
  if (sent_.in_header()) {
    if (sent_.header_bytes() == 0) BendHeader(from);
    return Bytes(header_).subspan(sent_.header_bytes());
  }
  Bytes first;
  for (const Bytes& view : from) {
    if (first.empty()) first = view;
  }
  first = first.first(
      static_cast<size_t>(std::min<uint64_t>(first.size(), sent_.left())));
  if (!corrupt_) return first;
  changed_.assign(first.begin(), first.end());
  changed_[0] ^= std::byte{1};
  return changed_;
}

void FrameBender::OnSent(Bytes bytes) {
  if (!sent_.in_header() && !bytes.empty()) corrupt_ = false;
  sent_.Pass(bytes, [](const FrameHeader&) {});
}

void FrameBender::BendHeader(std::span<const Bytes> from) {
  size_t filled = 0;
  for (const Bytes& view : from) {
    const size_t part = std::min(view.size(), kHeaderBytes - filled);
    if (part > 0) std::memcpy(header_.data() + filled, view.data(), part);
    filled += part;
  }
  absl::StatusOr<FrameHeader> header = DecodeHeader(header_, {});
  if (!header.ok()) return;
  const FrameKind kind = header->kind;
  if (kind == FrameKind::kResponse) open_.erase(header->request_id);
  if (plant_ == Plant::kCorruptBytes && kind == FrameKind::kData) {
    corrupt_ = random_.Chance(kCorruptChance);
  }
  if (plant_ != Plant::kWrongReply) return;
  // The pieces of a swapped answer are swapped with it.
  if (kind == FrameKind::kResponse) {
    header->request_id = SwapAnswer(header->request_id);
  } else if (kind == FrameKind::kData || kind == FrameKind::kAbort) {
    const auto swapped = swapped_.find(header->request_id);
    if (swapped != swapped_.end()) header->request_id = swapped->second;
  }
  EncodeHeader(*header, header_);
}

uint64_t FrameBender::SwapAnswer(uint64_t id) {
  const auto swapped = swapped_.find(id);
  if (swapped != swapped_.end()) return swapped->second;
  if (open_.empty() || !random_.Chance(kSwapChance)) return id;
  const uint64_t other = *open_.begin();
  swapped_[id] = other;
  swapped_[other] = id;
  return other;
}

}  // namespace capstan::simulate
