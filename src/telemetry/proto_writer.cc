#include "telemetry/proto_writer.h"

#include <bit>

namespace capstan {
ProtoWriter& ProtoWriter::Varint(int field, int64_t value) {
  Key(field, WireType::kVarint);
  Raw(static_cast<uint64_t>(value));
  return *this;
}

ProtoWriter& ProtoWriter::Double(int field, double value) {
  Key(field, WireType::k64);
  AppendLittleEndian(bytes_, std::bit_cast<uint64_t>(value));
  return *this;
}

ProtoWriter& ProtoWriter::Float(int field, float value) {
  Key(field, WireType::k32);
  AppendLittleEndian(bytes_, std::bit_cast<uint32_t>(value));
  return *this;
}

ProtoWriter& ProtoWriter::Text(int field, std::string_view value) {
  Key(field, WireType::kLength);
  Raw(value.size());
  bytes_.append(value);
  return *this;
}

ProtoWriter& ProtoWriter::Message(int field, const ProtoWriter& message) {
  return Text(field, message.bytes_);
}

ProtoWriter& ProtoWriter::PackedDoubles(int field,
                                        std::span<const double> values) {
  Key(field, WireType::kLength);
  Raw(values.size() * sizeof(double));
  for (const double value : values) {
    AppendLittleEndian(bytes_, std::bit_cast<uint64_t>(value));
  }
  return *this;
}

void ProtoWriter::Key(int field, WireType type) {
  Raw(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(type));
}

void ProtoWriter::Raw(uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  bytes_.push_back(static_cast<char>(value));
}

}  // namespace capstan
