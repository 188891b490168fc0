// The planted bugs of the wire, as changes to frames that pass by.
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

// Follows the frames in one direction of a stream, whatever pieces its bytes
// come in.
class FrameTracker {
 public:
  // Passes bytes on; calls `on_header` whenever a header is complete.
  void Pass(Bytes bytes,
            const std::function<void(const FrameHeader&)>& on_header);

  // Whether the next byte belongs to a header, and to which place in it.
  bool in_header() const { return left_ == 0; }
  size_t header_bytes() const { return header_bytes_; }
  // Otherwise: bytes that are left of what follows the header.
  uint64_t left() const { return left_; }

 private:
  std::array<std::byte, kHeaderBytes> header_{};
  size_t header_bytes_ = 0;
  uint64_t left_ = 0;
};

// Decides what becomes of the frames of one connection, seen from one end.
class FrameBender {
 public:
  FrameBender(Plant plant, Random random) : plant_(plant), random_(random) {}

  // Bytes that have been received.
  void OnReceived(Bytes bytes);

  // The first bytes to send of `from`, changed as the plant wants it. They are
  // of one header, or of what follows one, and valid until the next call.
  Bytes Bend(std::span<const Bytes> from);
  // So many of them were sent.
  void OnSent(Bytes bytes);

 private:
  void BendHeader(std::span<const Bytes> from);
  // The id under which the answer `id` is given.
  uint64_t SwapAnswer(uint64_t id);

  const Plant plant_;
  Random random_;
  FrameTracker received_;
  FrameTracker sent_;
  // Requests that came in and have not been answered.
  std::set<uint64_t> open_;
  // Answers that are given under another id.
  std::map<uint64_t, uint64_t> swapped_;
  // The header being sent, with its changes, and what follows it if changed.
  std::array<std::byte, kHeaderBytes> header_{};
  std::vector<std::byte> changed_;
  bool corrupt_ = false;
};

}  // namespace capstan::simulate
