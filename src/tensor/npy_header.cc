#include "tensor/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/cat.h"
#include "tensor/shape.h"

namespace capstan {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// The types that can be read, without their byte order, and how they are held.
struct StoredType {
  absl::string_view name;
  DType dtype;
};
constexpr std::array<StoredType, 11> kTypes = {{
    {"f4", DType::kF32},
    {"f8", DType::kF64},
    {"f2", DType::kF16},
    {"i4", DType::kI32},
    {"i8", DType::kI64},
    {"u1", DType::kU8},
    {"b1", DType::kBool},
    {"i1", DType::kI32},
    {"i2", DType::kI32},
    {"u2", DType::kI32},
    {"u4", DType::kI64},
}};

size_t ByteAt(std::string_view text, size_t at) {
  return static_cast<uint8_t>(text[at]);
}

// The size of everything before the dict: version 1 has a shorter length field.
size_t PrefixSize(std::string_view start) {
  return ByteAt(start, 6) == 1 ? 10 : kNpyStart;
}

// The text after `'key':` in the dict.
absl::StatusOr<std::string_view> ValueOf(std::string_view dict,
                                         absl::string_view key) {
  const size_t at = dict.find(absl::StrCat("'", key, "'"));
  const size_t colon = at == dict.npos ? at : dict.find(':', at);
  if (colon == dict.npos) {
    return absl::DataLossError(absl::StrCat("the header has no '", key, "'"));
  }
  const std::string_view rest = dict.substr(colon + 1);
  const size_t blank = rest.find_first_not_of(' ');
  return blank == rest.npos ? std::string_view() : rest.substr(blank);
}

// Sets the element type in `header`.
absl::Status ReadType(std::string_view dict, NpyHeader& header) {
  const absl::StatusOr<std::string_view> value = ValueOf(dict, "descr");
  CAPSTAN_RETURN_IF_ERROR(value.status());
  if (value->starts_with('[')) {
    return absl::InvalidArgumentError(
        "structured arrays are not supported: save each field as an array");
  }
  const size_t close = value->find('\'', 1);
  if (!value->starts_with('\'') || close == value->npos || close < 2) {
    return absl::DataLossError("the type in the header is malformed");
  }
  const std::string_view type = value->substr(1, close - 1);
  const bool has_order = std::string_view("<>|=").find(type[0]) != type.npos;
  std::vector<absl::string_view> names;
  for (const auto& [name, dtype] : kTypes) {
    names.push_back(name);
    if (!has_order || ToAbsl(type.substr(1)) != name) continue;
    header.dtype = dtype;
    header.stored_size = static_cast<size_t>(name[1] - '0');
    header.is_signed = name[0] != 'u';
    header.big_endian = type[0] == '>' && header.stored_size > 1;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "elements of type '", absl::CHexEscape(ToAbsl(type.substr(0, 60))),
      "' are not supported: convert the array to one of ",
      absl::StrJoin(names, ", ")));
}

absl::StatusOr<Shape> ShapeOf(std::string_view dict) {
  const absl::StatusOr<std::string_view> value = ValueOf(dict, "shape");
  CAPSTAN_RETURN_IF_ERROR(value.status());
  const absl::Status malformed =
      absl::DataLossError("the shape in the header is malformed");
  const size_t close = value->find(')');
  if (!value->starts_with('(') || close == value->npos) return malformed;
  std::string_view text = value->substr(1, close - 1);
  const auto skip_blanks = [&text] {
    while (text.starts_with(' ')) text.remove_prefix(1);
  };
  std::vector<int64_t> dims;
  for (skip_blanks(); !text.empty(); skip_blanks()) {
    const char* const end = text.data() + text.size();
    const auto number = std::from_chars(text.data(), end, dims.emplace_back());
    if (number.ec != std::errc()) return malformed;
    text.remove_prefix(static_cast<size_t>(number.ptr - text.data()));
    skip_blanks();
    if (!text.empty() && !text.starts_with(',')) return malformed;
    if (!text.empty()) text.remove_prefix(1);
  }
  absl::StatusOr<Shape> shape = MakeShape(dims);
  if (!shape.ok()) return absl::DataLossError(shape.status().message());
  return shape;
}

absl::StatusOr<bool> IsFortranOrder(std::string_view dict) {
  const absl::StatusOr<std::string_view> value = ValueOf(dict, "fortran_order");
  CAPSTAN_RETURN_IF_ERROR(value.status());
  if (value->starts_with("True")) return true;
  if (value->starts_with("False")) return false;
  return absl::DataLossError("the order in the header is malformed");
}

}  // namespace

size_t StoredBytes(const NpyHeader& header) {
  return static_cast<size_t>(header.shape.num_elements()) * header.stored_size;
}

absl::StatusOr<size_t> NpyHeaderSize(std::string_view start) {
  if (!start.starts_with(kMagic) || start.size() < kNpyStart) {
    return absl::DataLossError("not an .npy file");
  }
  const size_t version = ByteAt(start, 6);
  if (version < 1 || version > 3) {
    return absl::DataLossError(
        absl::StrCat("version ", version, " is not known"));
  }
  size_t length = ByteAt(start, 8) | ByteAt(start, 9) << 8;
  if (version > 1) length |= ByteAt(start, 10) << 16 | ByteAt(start, 11) << 24;
  const size_t prefix = PrefixSize(start);
  if (length > kMaxNpyHeader - prefix) {
    return absl::DataLossError(absl::StrCat("a header of ", length,
                                            " bytes is too long: the file is "
                                            "damaged"));
  }
  return prefix + length;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view start) {
  const absl::StatusOr<size_t> size = NpyHeaderSize(start);
  CAPSTAN_RETURN_IF_ERROR(size.status());
  if (start.size() < *size) {
    return absl::DataLossError("the header is cut short");
  }
  const size_t prefix = PrefixSize(start);
  const std::string_view dict = start.substr(prefix, *size - prefix);
  NpyHeader header;
  header.size = *size;
  CAPSTAN_RETURN_IF_ERROR(ReadType(dict, header));
  const absl::StatusOr<Shape> shape = ShapeOf(dict);
  CAPSTAN_RETURN_IF_ERROR(shape.status());
  header.shape = *shape;
  const absl::StatusOr<bool> fortran = IsFortranOrder(dict);
  CAPSTAN_RETURN_IF_ERROR(fortran.status());
  // With one axis both orders are the same.
  header.fortran_order = *fortran && shape->rank() > 1;
  return header;
}

absl::StatusOr<NpyHeader> ReadNpyHeader(
    const std::function<absl::StatusOr<size_t>(MutableBytes)>& read) {
  std::string text(kNpyStart, '\0');
  absl::StatusOr<size_t> got = read(std::as_writable_bytes(std::span(text)));
  CAPSTAN_RETURN_IF_ERROR(got.status());
  text.resize(*got);
  const absl::StatusOr<size_t> size = NpyHeaderSize(text);
  CAPSTAN_RETURN_IF_ERROR(size.status());
  text.resize(std::max(*size, kNpyStart));
  got = read(std::as_writable_bytes(std::span(text).subspan(kNpyStart)));
  CAPSTAN_RETURN_IF_ERROR(got.status());
  text.resize(kNpyStart + *got);
  return ParseNpyHeader(text);
}

std::string EncodeNpyHeader(DType dtype, const Shape& shape) {
  constexpr size_t kAlignment = 64;
  constexpr size_t kPrefix = 10;
  std::string type = "invalid";
  for (const auto& [name, held] : kTypes) {
    if (held != dtype) continue;
    type = absl::StrCat(SizeOf(dtype) == 1 ? "|" : "<", name);
    break;  // the first entry has the dtype's own width
  }
  std::string text = absl::StrCat(
      "{'descr': '", type, "', 'fortran_order': False, 'shape': (",
      absl::StrJoin(shape.dims(), ", "), shape.rank() == 1 ? ",), }" : "), }");
  while ((kPrefix + text.size() + 1) % kAlignment != 0) text.push_back(' ');
  text.push_back('\n');
  return absl::StrCat(ToAbsl(kMagic), absl::string_view("\x01\x00", 2),
                      std::string{static_cast<char>(text.size() & 0xff),
                                  static_cast<char>(text.size() >> 8)},
                      text);
}

}  // namespace capstan
