// The protocol buffer encoding, as far as event files need it: handwritten,
// since this layer does not see protobuf and the messages are few. Callers know
// the field numbers; event.cc and hparams_event.cc list them.
// docs: https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace capstan {

// Little-endian, regardless of the machine's byte order.
template <typename Unsigned>
void AppendLittleEndian(std::string& bytes, Unsigned value) {
  for (size_t i = 0; i < sizeof(value); ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

// Appends fields to a message. Every field passed is written, even if it is 0
// or empty. Not thread-safe.
class ProtoWriter {
 public:
  // int64, int32, uint64, bool and enums. A negative number takes ten bytes.
  ProtoWriter& Varint(int field, int64_t value);
  // double and float.
  ProtoWriter& Double(int field, double value);
  ProtoWriter& Float(int field, float value);
  // string and bytes.
  ProtoWriter& Text(int field, std::string_view value);
  // A nested message.
  ProtoWriter& Message(int field, const ProtoWriter& message);
  // repeated double [packed = true].
  ProtoWriter& PackedDoubles(int field, std::span<const double> values);

  // The message so far.
  const std::string& bytes() const { return bytes_; }

 private:
  // How a field's value is delimited; the numbers are the format's.
  enum class WireType : uint8_t { kVarint = 0, k64 = 1, kLength = 2, k32 = 5 };

  void Key(int field, WireType type);
  void Raw(uint64_t value);

  std::string bytes_;
};

}  // namespace capstan
