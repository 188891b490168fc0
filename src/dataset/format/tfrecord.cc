#include "dataset/format/tfrecord.h"

#include "base/crc32c.h"

namespace capstan {
namespace {

template <typename T>
T ReadLittle(std::string_view bytes) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return value;
}

template <typename T>
void AppendLittle(T value, std::string& to) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    to.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

std::uint32_t Checksum(std::string_view bytes) {
  return MaskCrc32c(Crc32c(AsBytes(bytes)));
}

}  // namespace

TfRecordFrame ReadTfRecord(std::string_view text, std::uint64_t max_data) {
  using State = TfRecordFrame::State;
  constexpr std::size_t kHeader = 12;
  if (text.size() < kHeader) return {.state = State::kShort};
  if (ReadLittle<std::uint32_t>(text.substr(8)) !=
      Checksum(text.substr(0, 8))) {
    return {.state = State::kDamaged};
  }
  const auto length = ReadLittle<std::uint64_t>(text);
  if (length > max_data) return {.state = State::kTooLong};
  if (text.size() - kHeader < 4 || text.size() - kHeader - 4 < length) {
    return {.state = State::kShort};
  }
  return {.state = State::kWhole,
          .data = text.substr(kHeader, length),
          .checksum = ReadLittle<std::uint32_t>(text.substr(kHeader + length))};
}

bool CheckTfRecord(const TfRecordFrame& frame) {
  return Checksum(frame.data) == frame.checksum;
}

void AppendTfRecord(std::string_view data, std::string& to) {
  const std::size_t begin = to.size();
  AppendLittle<std::uint64_t>(data.size(), to);
  AppendLittle(Checksum(std::string_view(to).substr(begin)), to);
  to.append(data);
  AppendLittle(Checksum(data), to);
}

}  // namespace capstan
