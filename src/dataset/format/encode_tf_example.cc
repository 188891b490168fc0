#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/cat.h"
#include "capstan/dataset.h"

namespace capstan {
namespace {

void AppendVarint(std::uint64_t value, std::string& to) {
  for (; value >= 0x80; value >>= 7) {
    to.push_back(static_cast<char>((value & 0x7f) | 0x80));
  }
  to.push_back(static_cast<char>(value));
}

// A field of bytes: tag, length, bytes.
void AppendField(std::uint64_t field, std::string_view bytes, std::string& to) {
  AppendVarint(field << 3 | 2, to);
  AppendVarint(bytes.size(), to);
  to.append(bytes);
}

std::string EncodeFeature(std::string_view name, const Tensor& tensor) {
  std::string values;
  std::uint64_t list = 0;
  switch (tensor.dtype()) {
    case DType::kU8:
      list = 1;
      values = AsText(tensor.view().bytes());
      break;
    case DType::kF32:
      list = 2;
      values = AsText(tensor.view().bytes());
      break;
    case DType::kI64:
      list = 3;
      for (const std::int64_t value : tensor.Values<std::int64_t>()) {
        AppendVarint(static_cast<std::uint64_t>(value), values);
      }
      break;
    default:
      throw Error(ErrorCode::kInvalidArgument,
                  Cat("a tf.Example holds f32, i64 and u8, and \"", name,
                      "\" is ", NameOf(tensor.dtype())));
  }
  // Packed numbers are one field of the list, and so is the bytes value.
  std::string items;
  AppendField(1, values, items);
  std::string feature;
  AppendField(list, items, feature);
  return feature;
}

}  // namespace

std::string EncodeTfExample(const Example& example) {
  std::string features;
  for (const std::string& name : example.names()) {
    std::string entry;
    AppendField(1, name, entry);
    AppendField(2, EncodeFeature(name, example[name]), entry);
    AppendField(1, entry, features);
  }
  std::string bytes;
  AppendField(1, features, bytes);
  return bytes;
}

}  // namespace capstan
