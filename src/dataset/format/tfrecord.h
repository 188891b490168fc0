// The frames of a TFRecord file, one after the other:
//
//   u64 length, u32 checksum of these 8 bytes, data, u32 checksum of the data
//
// little-endian; the checksums are masked CRC-32C (base/crc32c.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace capstan {

// The size of a frame without its data.
inline constexpr std::size_t kTfRecordFrame = 16;

// The frame at the start of some text.
struct TfRecordFrame {
  enum class State {
    kWhole,
    kShort,    // the text ends before the frame does
    kDamaged,  // the length does not match its checksum
    kTooLong,
  };
  State state = State::kShort;
  // If whole.
  std::string_view data = {};
  std::uint32_t checksum = 0;
};
TfRecordFrame ReadTfRecord(std::string_view text, std::uint64_t max_data);

// Whether a whole frame's data matches its checksum.
bool CheckTfRecord(const TfRecordFrame& frame);

// Appends the frame of a record.
void AppendTfRecord(std::string_view data, std::string& to);

}  // namespace capstan
