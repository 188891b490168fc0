// Reads the bytes of a protobuf message, field by field. The bytes may be
// damaged or malicious: nothing beyond them is read.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace capstan {

enum class WireType : std::uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kFixed32 = 5,
};

// A small value. Not thread-safe.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}

  // Reads the next field's number and type. False at the end of the message or
  // if it is malformed; ok() tells which. The value must be read next.
  bool Next() {
    if (rest_.empty() || !ok_) return false;
    const std::uint64_t tag = Varint();
    field_ = tag >> 3;
    const auto type = static_cast<std::uint8_t>(tag & 7);
    type_ = static_cast<WireType>(type);
    // Types 3 and 4, groups, do not occur in the messages read here.
    if (field_ == 0 || type == 3 || type == 4 || type > 5) ok_ = false;
    return ok_;
  }
  std::uint64_t field() const { return field_; }
  WireType type() const { return type_; }
  bool Is(std::uint64_t field, WireType type) const {
    return field_ == field && type_ == type;
  }

  // The value of the field; 0 and empty if it is malformed.
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view Bytes() { return Take(Varint()); }
  std::string_view Fixed32() { return Take(4); }

  // Skips a value of any type.
  void Skip() {
    switch (type_) {
      case WireType::kVarint:
        Varint();
        break;
      case WireType::kFixed64:
        Take(8);
        break;
      case WireType::kBytes:
        Bytes();
        break;
      case WireType::kFixed32:
        Take(4);
        break;
    }
  }

  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view Take(std::uint64_t size) {
    if (!ok_ || size > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  std::uint64_t field_ = 0;
  WireType type_ = WireType::kVarint;
  bool ok_ = true;
};

}  // namespace capstan
