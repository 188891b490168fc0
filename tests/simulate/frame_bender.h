// The planted bugs of the wire, as changes to passing frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "simulate/workload.h"
#include "wire/frame.h"

namespace capstan::simulate {

// Follows the frames in one direction of a stream, however the bytes are split.
class FrameTracker {
 public:
  // Consumes bytes; calls `on_header` whenever a header is complete.
  void Pass(Bytes bytes,
            const std::function<void(const FrameHeader&)>& on_header);

  // Whether the next byte belongs to a header, and its position in the header.
  bool in_header() const { return left_ == 0; }
  size_t header_bytes() const { return header_bytes_; }
  // Otherwise: the bytes left of what follows the header.
  uint64_t left() const { return left_; }

 private:
  std::array<std::byte, kHeaderBytes> header_{};
  size_t header_bytes_ = 0;
  uint64_t left_ = 0;
};

// Decides what happens to the frames of one connection, seen from one end.
class FrameBender {
 public:
  FrameBender(Plant plant, Random random) : plant_(plant), random_(random) {}

  // Bytes that were received.
  void OnReceived(Bytes bytes);

  // The first bytes of `from` to send, changed as the plant requires. They
  // belong to one header, or to what follows one, and are valid until the next
  // call.
  Bytes Bend(std::span<const Bytes> from);
  // These bytes were sent.
  void OnSent(Bytes bytes);

 private:
  void BendHeader(std::span<const Bytes> from);
  // The id under which the answer `id` is sent.
  uint64_t SwapAnswer(uint64_t id);

  const Plant plant_;
  Random random_;
  FrameTracker received_;
  FrameTracker sent_;
  // Requests received and not yet answered.
  std::set<uint64_t> open_;
  // Answers that are sent under another id.
  std::map<uint64_t, uint64_t> swapped_;
  // The header being sent, with its changes, and what follows it if that
  // changes.
  std::array<std::byte, kHeaderBytes> header_{};
  std::vector<std::byte> changed_;
  bool corrupt_ = false;
};

}  // namespace capstan::simulate
