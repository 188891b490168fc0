// The bytes of arguments and results. Each piece is a tag and its data; numbers
// of variable length are little-endian base 128, as in protobuf.
#include <cxxabi.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "capstan/function.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace capstan {
namespace {

// On the wire: never reuse a value.
enum Tag : uint8_t {
  kFalse = 1,
  kTrue = 2,
  kInt = 3,       // zigzag
  kUnsigned = 4,  // variable length
  kFloat = 5,     // 4 bytes
  kDouble = 6,    // 8 bytes
  kText = 7,      // length, bytes
  kTensor = 8,    // dtype, rank, dims; its elements are the next tensor
  kList = 9,      // length; the items follow
  kAbsent = 10,
  kResource = 11,  // id
};

std::string_view TagName(uint8_t tag) {
  switch (tag) {
    case kFalse:
    case kTrue:
      return "a bool";
    case kInt:
      return "a signed integer";
    case kUnsigned:
      return "an unsigned integer";
    case kFloat:
      return "an f32";
    case kDouble:
      return "an f64";
    case kText:
      return "a text";
    case kTensor:
      return "a tensor";
    case kList:
      return "a list";
    case kAbsent:
      return "nothing";
    case kResource:
      return "a per-worker resource";
    default:
      return "no value at all";
  }
}

[[noreturn]] void Refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

}  // namespace

void ValueWriter::Tag(uint8_t tag) {
  value_.bytes.push_back(static_cast<char>(tag));
}

void ValueWriter::Varint(uint64_t value) {
  while (value >= 0x80) {
    value_.bytes.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  value_.bytes.push_back(static_cast<char>(value));
}

void ValueWriter::Bool(bool value) { Tag(value ? kTrue : kFalse); }

void ValueWriter::Int(int64_t value) {
  Tag(kInt);
  Varint((static_cast<uint64_t>(value) << 1) ^
         static_cast<uint64_t>(value >> 63));
}

void ValueWriter::Unsigned(uint64_t value) {
  Tag(kUnsigned);
  Varint(value);
}

void ValueWriter::Float(float value) {
  Tag(kFloat);
  value_.bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void ValueWriter::Double(double value) {
  Tag(kDouble);
  value_.bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void ValueWriter::Text(std::string_view value) {
  Tag(kText);
  Varint(value.size());
  value_.bytes.append(value);
}

void ValueWriter::Put(const Tensor& tensor) {
  Tag(kTensor);
  value_.bytes.push_back(static_cast<char>(CodeOf(tensor.dtype())));
  value_.bytes.push_back(static_cast<char>(tensor.shape().rank()));
  for (const int64_t dim : tensor.shape().dims()) {
    Varint(static_cast<uint64_t>(dim));
  }
  value_.tensors.push_back(tensor);
}

void ValueWriter::List(size_t size) {
  Tag(kList);
  Varint(size);
}

void ValueWriter::Absent() { Tag(kAbsent); }

void ValueWriter::Resource(uint64_t id) {
  Tag(kResource);
  Varint(id);
}

ValueReader::ValueReader(const EncodedValue& value, ResourceFinder finder)
    : value_(value), finder_(std::move(finder)) {}

uint8_t ValueReader::Byte() {
  if (at_ == value_.bytes.size()) Refuse("a value that is cut short");
  return static_cast<uint8_t>(value_.bytes[at_++]);
}

uint64_t ValueReader::Varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = Byte();
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  Refuse("a number of more than 64 bits");
}

void ValueReader::Raw(void* into, size_t size) {
  if (value_.bytes.size() - at_ < size) Refuse("a value that is cut short");
  std::memcpy(into, value_.bytes.data() + at_, size);
  at_ += size;
}

void ValueReader::Expect(uint8_t tag) {
  const uint8_t found = Byte();
  if (found == tag) return;
  Refuse(absl::StrCat(std::string(TagName(found)), " instead of ",
                      std::string(TagName(tag))));
}

bool ValueReader::Bool() {
  const uint8_t found = Byte();
  if (found == kTrue) return true;
  if (found == kFalse) return false;
  Refuse(absl::StrCat(std::string(TagName(found)), " instead of a bool"));
}

int64_t ValueReader::Int() {
  Expect(kInt);
  const uint64_t zigzag = Varint();
  return static_cast<int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
}

uint64_t ValueReader::Unsigned() {
  Expect(kUnsigned);
  return Varint();
}

float ValueReader::Float() {
  Expect(kFloat);
  float value = 0;
  Raw(&value, sizeof(value));
  return value;
}

double ValueReader::Double() {
  Expect(kDouble);
  double value = 0;
  Raw(&value, sizeof(value));
  return value;
}

std::string ValueReader::Text() {
  Expect(kText);
  const uint64_t size = Varint();
  if (size > value_.bytes.size() - at_) Refuse("a value that is cut short");
  std::string text = value_.bytes.substr(at_, size);
  at_ += size;
  return text;
}

Tensor ValueReader::Get() {
  Expect(kTensor);
  const absl::StatusOr<DType> dtype = DTypeFromCode(Byte());
  if (!dtype.ok()) Refuse(std::string(dtype.status().message()));
  const uint8_t rank = Byte();
  if (rank > Shape::kMaxRank) {
    Refuse(absl::StrCat("a tensor of rank ", static_cast<int>(rank)));
  }
  std::array<int64_t, Shape::kMaxRank> dims;
  for (size_t i = 0; i < rank; ++i) dims[i] = static_cast<int64_t>(Varint());
  const Shape shape(std::span<const int64_t>(dims).first(rank));
  if (tensor_ == value_.tensors.size()) Refuse("a tensor without elements");
  const Tensor& stored = value_.tensors[tensor_++];
  const size_t size = stored.view().bytes().size();
  if (size != ByteSize(*dtype, shape)) {
    Refuse(absl::StrCat("a tensor of shape ", shape.ToString(), " and type ",
                        std::string(NameOf(*dtype)), " with ", size, " bytes"));
  }
  return Tensor(*dtype, shape, stored.memory());
}

size_t ValueReader::List() {
  Expect(kList);
  const uint64_t size = Varint();
  if (size > value_.bytes.size() - at_) Refuse("a list that is cut short");
  return size;
}

void ValueReader::List(size_t size) {
  Expect(kList);
  const uint64_t found = Varint();
  if (found != size) {
    Refuse(absl::StrCat("a list of ", found, " values instead of ", size));
  }
}

bool ValueReader::Absent() {
  if (at_ == value_.bytes.size() ||
      static_cast<uint8_t>(value_.bytes[at_]) != kAbsent) {
    return false;
  }
  ++at_;
  return true;
}

std::shared_ptr<void> ValueReader::Resource() {
  Expect(kResource);
  const uint64_t id = Varint();
  if (finder_ == nullptr) Refuse("a per-worker resource where there is none");
  return finder_(id);
}

void ValueReader::End() const {
  if (at_ != value_.bytes.size() || tensor_ != value_.tensors.size()) {
    Refuse(absl::StrCat(value_.bytes.size() - at_, " bytes and ",
                        value_.tensors.size() - tensor_,
                        " tensors more than were expected"));
  }
}

std::string NameOfType(const std::type_info& type) {
  int failed = 0;
  char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &failed);
  std::string text = failed == 0 ? name : type.name();
  std::free(name);
  return text;
}

void ThrowOutOfType(std::string_view value, std::string_view type) {
  Refuse(absl::StrCat(std::string(value), " is no ", std::string(type)));
}

void ThrowNotOnWorker() {
  throw Error(ErrorCode::kFailedPrecondition,
              "a PerWorker is made by the coordinator, and is of use in a "
              "function that a worker runs: pass it to Schedule");
}

void CheckRows(const Rows& rows) {
  if (rows.ids.dtype() != DType::kI64 || rows.ids.shape().rank() != 1) {
    Refuse(absl::StrCat("ids of type ", std::string(NameOf(rows.ids.dtype())),
                        " and shape ", rows.ids.shape().ToString(),
                        ": they must be i64 of rank 1"));
  }
  if (rows.values.shape().rank() == 0 ||
      rows.values.shape()[0] != rows.ids.shape()[0]) {
    Refuse(absl::StrCat(rows.ids.shape()[0], " ids for values of shape ",
                        rows.values.shape().ToString()));
  }
}

}  // namespace capstan
