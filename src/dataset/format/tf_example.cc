#include "dataset/format/tf_example.h"

#include <bit>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "base/cat.h"
#include "capstan/error.h"
#include "dataset/format/proto_reader.h"
#include "dataset/recipe/convert_value.h"

namespace capstan {
namespace {

static_assert(std::endian::native == std::endian::little,
              "floats are copied as they are in the file");

constexpr char kMalformed[] = "the tf.Example is malformed";

// The field of Feature that holds values of a type, and its name.
std::uint64_t ListOf(DType dtype) {
  if (dtype == DType::kU8) return 1;
  return dtype == DType::kF32 ? 2 : 3;
}
std::string_view ListName(std::uint64_t list) {
  if (list == 1) return "bytes_list";
  return list == 2 ? "float_list" : "int64_list";
}

// Takes the elements of a feature one stretch after the other: into a row of
// fixed size, or a ragged one.
class Sink {
 public:
  Sink(const TfFeature& feature, std::size_t column, BlockBuilder& rows)
      : column_(column), rows_(rows), element_(SizeOf(feature.dtype)) {
    if (!feature.shape) return;
    room_ = static_cast<std::size_t>(feature.shape->num_elements());
    to_ = rows.Fixed(column);
  }

  void Put(const void* elements, std::size_t count) {
    count_ += count;
    if (!room_) {
      rows_.Append(column_, elements, count * element_);
    } else if (count_ <= *room_ && count > 0) {
      std::memcpy(to_, elements, count * element_);
      to_ += count * element_;
    }
  }

  std::size_t count() const { return count_; }
  bool Fits() const { return !room_ || count_ == *room_; }

 private:
  const std::size_t column_;
  BlockBuilder& rows_;
  const std::size_t element_;
  std::optional<std::size_t> room_;
  std::byte* to_ = nullptr;
  std::size_t count_ = 0;
};

// Reads the values of one of the lists; false if it is malformed. Counts the
// values in `values`.
bool ReadList(DType dtype, std::string_view list, Sink& sink,
              std::size_t& values) {
  ProtoReader reader(list);
  while (reader.Next()) {
    if (reader.field() != 1) {
      reader.Skip();
    } else if (dtype == DType::kU8 && reader.type() == WireType::kBytes) {
      const std::string_view bytes = reader.Bytes();
      ++values;
      sink.Put(bytes.data(), bytes.size());
    } else if (dtype == DType::kF32 && reader.type() == WireType::kBytes) {
      const std::string_view packed = reader.Bytes();
      if (packed.size() % sizeof(float) != 0) return false;
      values += packed.size() / sizeof(float);
      sink.Put(packed.data(), packed.size() / sizeof(float));
    } else if (dtype == DType::kF32 && reader.type() == WireType::kFixed32) {
      const std::string_view value = reader.Fixed32();
      if (!reader.ok()) return false;
      ++values;
      sink.Put(value.data(), 1);
    } else if (dtype == DType::kI64 && reader.type() == WireType::kBytes) {
      ProtoReader packed(reader.Bytes());
      while (!packed.empty() && packed.ok()) {
        const std::uint64_t value = packed.Varint();
        ++values;
        if (packed.ok()) sink.Put(&value, 1);
      }
      if (!packed.ok()) return false;
    } else if (dtype == DType::kI64 && reader.type() == WireType::kVarint) {
      const std::uint64_t value = reader.Varint();
      if (!reader.ok()) return false;
      ++values;
      sink.Put(&value, 1);
    } else {
      return false;
    }
  }
  return reader.ok();
}

}  // namespace

TfExampleParser::TfExampleParser(std::vector<TfFeature> features)
    : features_(std::move(features)), missing_(features_.size()) {
  auto layout = std::make_shared<Layout>();
  for (std::size_t i = 0; i < features_.size(); ++i) {
    const TfFeature& feature = features_[i];
    if (feature.dtype != DType::kF32 && feature.dtype != DType::kI64 &&
        feature.dtype != DType::kU8) {
      throw Error(ErrorCode::kInvalidArgument,
                  Cat("TfRecord: feature \"", feature.name, "\" cannot be ",
                      NameOf(feature.dtype), ": f32, i64 or u8"));
    }
    if (!places_.emplace(feature.name, i).second) {
      throw Error(
          ErrorCode::kInvalidArgument,
          Cat("TfRecord: feature \"", feature.name, "\" is listed twice"));
    }
    layout->push_back({feature.name, feature.dtype,
                       feature.shape.value_or(Shape()),
                       !feature.shape.has_value()});
    if (feature.missing && feature.shape) {
      missing_[i] = Filled(feature.dtype, *feature.shape, *feature.missing);
    }
  }
  layout_ = std::move(layout);
}

std::string TfExampleParser::Parse(std::string_view record,
                                   BlockBuilder& rows) const {
  // If an entry occurs twice, the later one counts, as in protobuf.
  std::vector<std::optional<std::string_view>> found(features_.size());
  ProtoReader example(record);
  while (example.Next()) {
    if (!example.Is(1, WireType::kBytes)) {
      example.Skip();
      continue;
    }
    ProtoReader map(example.Bytes());
    while (map.Next()) {
      if (!map.Is(1, WireType::kBytes)) {
        map.Skip();
        continue;
      }
      ProtoReader entry(map.Bytes());
      std::string_view key;
      std::string_view value;
      while (entry.Next()) {
        if (entry.Is(1, WireType::kBytes)) {
          key = entry.Bytes();
        } else if (entry.Is(2, WireType::kBytes)) {
          value = entry.Bytes();
        } else {
          entry.Skip();
        }
      }
      if (!entry.ok()) return kMalformed;
      const auto place = places_.find(ToAbsl(key));
      if (place != places_.end()) found[place->second] = value;
    }
    if (!map.ok()) return kMalformed;
  }
  if (!example.ok()) return kMalformed;
  for (std::size_t i = 0; i < features_.size(); ++i) {
    std::string reason =
        found[i] ? ParseFeature(i, *found[i], rows) : PutMissing(i, rows);
    if (!reason.empty()) {
      return Cat("feature \"", features_[i].name, "\": ", reason);
    }
  }
  return "";
}

std::string TfExampleParser::ParseFeature(std::size_t index,
                                          std::string_view feature,
                                          BlockBuilder& rows) const {
  const TfFeature& wanted = features_[index];
  const std::uint64_t list = ListOf(wanted.dtype);
  Sink sink(wanted, index, rows);
  std::size_t values = 0;
  ProtoReader reader(feature);
  while (reader.Next()) {
    if (reader.Is(list, WireType::kBytes)) {
      if (!ReadList(wanted.dtype, reader.Bytes(), sink, values)) {
        return kMalformed;
      }
    } else if (reader.field() <= 3 && reader.type() == WireType::kBytes) {
      return Cat("is a ", ListName(reader.field()), ", not a ", ListName(list));
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return kMalformed;
  if (values == 0 && (wanted.missing || (wanted.shape && !sink.Fits()))) {
    return PutMissing(index, rows);
  }
  if (wanted.dtype == DType::kU8 && values > 1) {
    return Cat("has ", values, " values, and one is expected");
  }
  if (!sink.Fits()) {
    return Cat("has ", sink.count(), " elements, and ",
               wanted.shape->ToString(), " are expected");
  }
  return "";
}

std::string TfExampleParser::PutMissing(std::size_t index,
                                        BlockBuilder& rows) const {
  const TfFeature& feature = features_[index];
  if (!feature.missing) return "is missing, and `missing` is not given";
  if (!feature.shape) return "";  // no elements
  const std::span<const std::byte> from = missing_[index].view().bytes();
  if (!from.empty()) std::memcpy(rows.Fixed(index), from.data(), from.size());
  return "";
}

}  // namespace capstan
