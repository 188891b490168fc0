// The frame: the unit in which Capstan's processes talk. docs/wire.md has the
// format in full, with what is forbidden and why; this header is its constants
// and codec. Pure functions over bytes; opens no socket. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace capstan {

inline constexpr uint32_t kFrameMagic = 0x53504143;  // "CAPS" in memory
inline constexpr uint8_t kProtocolVersion = 1;
inline constexpr size_t kHeaderBytes = 56;

// Attachments of at most this many bytes in total follow their message
// immediately; larger ones come in kData frames of at most kMaxPieceBytes each,
// between which small frames may pass.
inline constexpr uint64_t kInlineBytes = 64 << 10;
inline constexpr uint64_t kMaxPieceBytes = 1 << 20;

enum class FrameKind : uint8_t {
  kHello = 1,     // first frame, from the connecting side
  kWelcome = 2,   // its answer: accepted
  kRefuse = 3,    // its answer: refused, and why; the connection is closed
  kRequest = 4,   // a call
  kResponse = 5,  // its answer
  kData = 6,      // a piece of the attachments of the message before it
  kAbort = 7,     // the rest of those attachments will not be sent
  kCancel = 8,    // the caller no longer wants the answer
  kPing = 9,      // are you there?
  kPong = 10,     // yes
  kGoodbye = 11,  // no new calls, please: this side is shutting down
};

struct FrameHeader {
  FrameKind kind = FrameKind::kPing;
  // kRequest: the method. kResponse, kRefuse: the absl::StatusCode.
  uint16_t code = 0;
  // Chosen by the caller, unique on its connection; echoed in the answer.
  uint64_t request_id = 0;
  // kRequest: how long the caller will wait, in microseconds, counted from the
  // arrival of the last byte of the request's attachments so far. Otherwise 0.
  uint64_t timeout_us = 0;
  // kRequest, kResponse: all attachments together. kData: this piece.
  uint64_t attachment_bytes = 0;
  // kRequest: the most bytes of attachments that the answer may have. Otherwise
  // 0.
  uint64_t reply_limit = 0;
  uint32_t body_bytes = 0;
  uint32_t attachment_count = 0;

  bool operator==(const FrameHeader&) const = default;
};

// What a reader accepts. Checked before any memory is allocated.
struct FrameLimits {
  uint32_t body_bytes = 16 << 20;
  uint32_t attachment_count = 1 << 16;
  uint64_t attachment_bytes = uint64_t{64} << 30;
};

// Writes `header` as 56 bytes, with magic, version and checksum.
void EncodeHeader(const FrameHeader& header,
                  std::span<std::byte, kHeaderBytes> out);

// Reads a header that came from a peer. InvalidArgument, naming the field and
// its value, if the magic, version, checksum or kind is wrong, a reserved field
// or a field that the kind does not have is set, or a limit is exceeded.
absl::StatusOr<FrameHeader> DecodeHeader(
    std::span<const std::byte, kHeaderBytes> in, const FrameLimits& limits);

// The size of what follows a header before the inline attachments: a table of
// the attachments' lengths, 8 bytes each, then the body.
uint64_t PrefixBytes(const FrameHeader& header);
inline bool IsInline(const FrameHeader& header) {
  return header.attachment_bytes <= kInlineBytes;
}

// Reads the table of lengths; `in` has 8 * header.attachment_count bytes.
// InvalidArgument if they do not add up to header.attachment_bytes.
absl::StatusOr<std::vector<uint64_t>> DecodeLengths(const FrameHeader& header,
                                                    Bytes in);

// The head of a message as it goes on the wire: header, table, body. Fills in
// body_bytes, attachment_count and attachment_bytes of `header`.
std::string EncodeHead(FrameHeader header, std::string_view body,
                       std::span<const Bytes> attachments);

// One line for logs and dumps:
// "Request id=7 method=3 body=12 attachments=2/8192".
std::string ToString(const FrameHeader& header);

}  // namespace capstan
