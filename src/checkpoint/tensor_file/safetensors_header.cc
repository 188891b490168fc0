#include "checkpoint/tensor_file/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "tensor/view.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

constexpr size_t kAlignment = 8;

// `text` as a JSON string.
absl::StatusOr<std::string> Quoted(std::string_view what,
                                   std::string_view text) {
  try {
    return Json(text).dump();
  } catch (const Json::type_error&) {
    return absl::InvalidArgumentError(absl::StrCat(
        ToAbsl(what), " \"", ToAbsl(text), "\" is not valid UTF-8"));
  }
}

absl::Status AppendMetadata(const std::map<std::string, std::string>& metadata,
                            std::string& json) {
  absl::StrAppend(&json, "\"", ToAbsl(kSafetensorsMetadata), "\":{");
  for (const auto& [key, value] : metadata) {
    const auto quoted_key = Quoted("key", key);
    const auto quoted_value = Quoted("the value of metadata", value);
    CAPSTAN_RETURN_IF_ERROR(quoted_key.status());
    CAPSTAN_RETURN_IF_ERROR(WithContext(quoted_value.status(), key));
    absl::StrAppend(&json, json.back() == '{' ? "" : ",", *quoted_key, ":",
                    *quoted_value);
  }
  json.push_back('}');
  return absl::OkStatus();
}

absl::Status AppendEntry(const SafetensorsEntry& entry, std::string& json) {
  const auto name = Quoted("tensor", entry.name);
  CAPSTAN_RETURN_IF_ERROR(name.status());
  absl::StrAppend(&json, *name, ":{\"dtype\":\"",
                  ToAbsl(SafetensorsName(entry.dtype)), "\",\"shape\":[");
  for (int axis = 0; axis < entry.shape.rank(); ++axis) {
    absl::StrAppend(&json, axis == 0 ? "" : ",", entry.shape[axis]);
  }
  absl::StrAppend(&json, "],\"data_offsets\":[", entry.begin, ",", entry.end,
                  "]}");
  return absl::OkStatus();
}

absl::Status CheckSize(const SafetensorsEntry& entry) {
  const std::optional<uint64_t> size = CheckedSub(entry.end, entry.begin);
  const uint64_t wanted = ByteSize(entry.dtype, entry.shape);
  if (size == wanted || (size && !entry.unreadable.empty())) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "tensor \"", entry.name, "\": ", Describe(entry.dtype, entry.shape),
      " takes ", wanted, " bytes, but its data_offsets are [", entry.begin,
      ", ", entry.end, "]"));
}

}  // namespace

absl::StatusOr<std::string> EncodeSafetensorsHeader(
    const SafetensorsHeader& header) {
  std::string json(sizeof(uint64_t), '\0');
  json.push_back('{');
  if (!header.metadata.empty()) {
    CAPSTAN_RETURN_IF_ERROR(AppendMetadata(header.metadata, json));
  }
  for (const SafetensorsEntry& entry : header.entries) {
    if (json.back() != '{') json.push_back(',');
    CAPSTAN_RETURN_IF_ERROR(AppendEntry(entry, json));
  }
  json.push_back('}');
  json.resize((json.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const uint64_t size = json.size() - sizeof(uint64_t);
  if (size > kMaxSafetensorsHeader) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a header of ", size, " bytes, more than the limit of ",
                     kMaxSafetensorsHeader, ": use several files"));
  }
  for (size_t i = 0; i < sizeof(size); ++i) {
    json[i] = static_cast<char>(size >> (8 * i) & 0xff);
  }
  return json;
}

absl::Status PlaceSafetensors(std::vector<SafetensorsEntry>& entries,
                              uint64_t data_size) {
  std::sort(entries.begin(), entries.end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::tie(a.begin, a.end, a.name) <
                     std::tie(b.begin, b.end, b.name);
            });
  uint64_t end = 0;
  for (const SafetensorsEntry& entry : entries) {
    CAPSTAN_RETURN_IF_ERROR(CheckSize(entry));
    if (entry.begin != end) {
      return absl::DataLossError(absl::StrCat(
          "tensor \"", entry.name, "\": it begins at ", entry.begin,
          entry.begin < end ? ", inside of the one before it, which ends at "
                            : ", behind a hole that begins at ",
          end));
    }
    end = entry.end;
    if (end > data_size) {
      return absl::DataLossError(absl::StrCat(
          "tensor \"", entry.name, "\": it ends at ", end, ", but there are ",
          data_size, " bytes of data: the file is cut"));
    }
  }
  if (end == data_size) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(data_size - end,
                                          " bytes at the end belong to no "
                                          "tensor"));
}

std::string_view SafetensorsName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "F32";
    case DType::kF64:
      return "F64";
    case DType::kF16:
      return "F16";
    case DType::kBF16:
      return "BF16";
    case DType::kI32:
      return "I32";
    case DType::kI64:
      return "I64";
    case DType::kU8:
      return "U8";
    case DType::kBool:
      return "BOOL";
  }
  return "invalid";
}

}  // namespace capstan
