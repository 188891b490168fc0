// Parsed event by event and not into a tree of values: a hostile header of 100
// MB would make a tree of gigabytes, and the grammar is small.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "checkpoint/tensor_file/safetensors_header.h"
#include "checkpoint/tensor_file/shown_text.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

// Where the parser is in the document.
enum class Place {
  kStart,     // before the first {
  kTop,       // among the tensors
  kMetadata,  // in the metadata
  kTensor,    // in the description of a tensor
  kShape,     // in its arrays
  kOffsets,
  kEnd,
};

// All dtypes, for messages.
std::string AllNames() {
  return absl::StrJoin(kAllDTypes, ", ", [](std::string* text, DType dtype) {
    text->append(SafetensorsName(dtype));
  });
}

// A tensor while it is being parsed.
struct Description {
  std::string name;
  std::set<std::string> keys;
  std::string dtype;
  std::vector<int64_t> dims;
  std::vector<uint64_t> offsets;
};

// Each event returns false to stop; then status() says why.
class SafetensorsHandler final : public nlohmann::json_sax<Json> {
 public:
  explicit SafetensorsHandler(UnknownDTypes unknown) : unknown_(unknown) {}

  const absl::Status& status() const { return status_; }
  SafetensorsHeader& header() { return header_; }

  bool start_object(size_t /*count*/) override {
    if (place_ == Place::kStart) return Go(Place::kTop);
    if (place_ != Place::kTop || key_.empty()) return Unexpected("an object");
    if (key_ == kSafetensorsMetadata) return Go(Place::kMetadata);
    tensor_ = {};
    tensor_.name = key_;
    return Go(Place::kTensor);
  }

  bool end_object() override {
    key_.clear();
    if (place_ == Place::kTensor) {
      return Finish() && Go(Place::kTop);
    }
    return Go(place_ == Place::kMetadata ? Place::kTop : Place::kEnd);
  }

  bool start_array(size_t /*count*/) override {
    if (place_ != Place::kTensor) return Unexpected("an array");
    if (key_ == "shape") return Go(Place::kShape);
    if (key_ == "data_offsets") return Go(Place::kOffsets);
    return Unexpected("an array");
  }

  bool end_array() override { return Go(Place::kTensor); }

  bool key(std::string& key) override {
    bool is_new = true;
    if (place_ == Place::kTop) {
      if (key.empty()) return Stop("a tensor without a name");
      is_new = names_.insert(key).second;
    } else if (place_ == Place::kTensor) {
      is_new = tensor_.keys.insert(key).second;
      if (key != "dtype" && key != "shape" && key != "data_offsets") {
        return Stop(absl::StrCat("key ", Shown(key), " is not known"));
      }
    } else {
      is_new = !header_.metadata.contains(key);
    }
    key_ = key;
    return is_new || Stop(absl::StrCat(Shown(key), " is there twice"));
  }

  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) {
      header_.metadata.emplace(key_, text);
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") {
      return Unexpected("a string");
    }
    tensor_.dtype = text;
    return true;
  }

  bool number_unsigned(uint64_t value) override {
    if (place_ == Place::kOffsets && tensor_.offsets.size() < 2) {
      tensor_.offsets.push_back(value);
      return true;
    }
    if (place_ != Place::kShape) return Unexpected("a number");
    const std::optional<int64_t> dim = CheckedCast<int64_t>(value);
    if (!dim || tensor_.dims.size() >= Shape::kMaxRank) {
      return Stop(absl::StrCat(
          "a shape with ",
          dim ? absl::StrCat("more than ", Shape::kMaxRank, " dims")
              : absl::StrCat("the dim ", value)));
    }
    tensor_.dims.push_back(*dim);
    return true;
  }

  bool number_integer(int64_t value) override {
    return Unexpected(absl::StrCat("the number ", value));
  }
  bool number_float(double value, const std::string& /*text*/) override {
    return Unexpected(absl::StrCat("the number ", value));
  }
  bool null() override { return Unexpected("null"); }
  bool boolean(bool value) override {
    return Unexpected(value ? "true" : "false");
  }
  bool binary(Json::binary_t& /*value*/) override {
    return Unexpected("binary data");
  }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    return Stop(absl::StrCat("no JSON at its byte ", position));
  }

 private:
  bool Go(Place place) {
    place_ = place;
    return true;
  }

  // Stops with the error `why`, prefixed with the tensor.
  bool Stop(const std::string& why,
            absl::StatusCode code = absl::StatusCode::kDataLoss) {
    const bool inside = place_ == Place::kTensor || place_ == Place::kShape ||
                        place_ == Place::kOffsets;
    status_ = absl::Status(
        code, inside ? absl::StrCat("tensor ", Shown(tensor_.name), ": ", why)
                     : absl::StrCat("header: ", why));
    return false;
  }

  bool Unexpected(std::string_view what) {
    return Stop(absl::StrCat(
        absl::string_view(what.data(), what.size()), " where none belongs",
        key_.empty() ? "" : absl::StrCat(", after the key ", Shown(key_))));
  }

  // Turns the description into an entry.
  bool Finish() {
    if (tensor_.keys.size() != 3 || tensor_.offsets.size() != 2) {
      return Stop("dtype, shape and two data_offsets are not all there");
    }
    const auto dtype = std::find_if(
        kAllDTypes.begin(), kAllDTypes.end(),
        [&](DType known) { return SafetensorsName(known) == tensor_.dtype; });
    std::string unreadable;
    if (dtype == kAllDTypes.end()) {
      unreadable =
          absl::StrCat("dtype ", Shown(tensor_.dtype),
                       " is not supported: convert it to one of ", AllNames());
      if (unknown_ == UnknownDTypes::kRefuse) {
        return Stop(unreadable, absl::StatusCode::kInvalidArgument);
      }
    }
    const absl::StatusOr<Shape> shape = MakeShape(tensor_.dims);
    if (!shape.ok()) {
      return Stop(std::string(shape.status().message()), shape.status().code());
    }
    header_.entries.push_back(
        {.name = std::move(tensor_.name),
         .dtype = unreadable.empty() ? *dtype : DType::kF32,
         .shape = *shape,
         .begin = tensor_.offsets[0],
         .end = tensor_.offsets[1],
         .unreadable = std::move(unreadable)});
    return true;
  }

  const UnknownDTypes unknown_;
  Place place_ = Place::kStart;
  std::string key_;  // the most recent one in this object; "" if none
  std::set<std::string> names_;
  Description tensor_;
  SafetensorsHeader header_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsJson(std::string_view json,
                                                       UnknownDTypes unknown) {
  // The format requires it, and the parser would skip a byte order mark.
  if (!json.starts_with('{')) {
    return absl::DataLossError("header: it does not begin with {");
  }
  // The parser takes a NUL for the end, and would ignore what follows.
  if (json.find('\0') != json.npos) {
    return absl::DataLossError("header: it holds a NUL");
  }
  SafetensorsHandler handler(unknown);
  if (!Json::sax_parse(json.begin(), json.end(), &handler)) {
    return handler.status();
  }
  return std::move(handler.header());
}

}  // namespace capstan
