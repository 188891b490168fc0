// Written by hand and not through a tree of values: the text has an order and a
// layout for human readers, with a line for each shard and tensor.
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/bytes.h"
#include "base/cat.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "checkpoint/manifest.h"
#include "checkpoint/manifest_json.h"
#include "checkpoint/tensor_file/hex_text.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

// Collects the text, and remembers the first string that cannot be encoded.
class Text {
 public:
  void Add(absl::string_view text) { absl::StrAppend(&text_, text); }

  // "key": preceded by a comma, if not the first, and the line's indent.
  void Key(absl::string_view indent, std::string_view key, bool first = false) {
    absl::StrAppend(&text_, first ? "\n" : ",\n", indent);
    Quoted("key", key);
    Add(": ");
  }

  void Quoted(std::string_view what, std::string_view text) {
    try {
      Add(Json(text).dump());
    } catch (const Json::type_error&) {
      Fail(absl::StrCat(
          ToAbsl(what), " ",
          Json(text).dump(-1, ' ', true, Json::error_handler_t::replace),
          " is not valid UTF-8"));
    }
  }

  void Number(std::string_view what, double value) {
    if (!std::isfinite(value)) {
      Fail(absl::StrCat(ToAbsl(what), " is ", value, ", which JSON has not"));
    }
    Add(Json(value).dump());
  }

  absl::StatusOr<std::string> Take() {
    CAPSTAN_RETURN_IF_ERROR(status_);
    return std::move(text_);
  }

 private:
  void Fail(const std::string& why) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(why);
  }

  std::string text_;
  absl::Status status_;
};

// [ and ] around the output of `one` for each item, one line per item.
template <typename Items, typename One>
void AddLines(Text& text, absl::string_view indent, const Items& items,
              const One& one) {
  text.Add("[");
  bool first = true;
  for (const auto& item : items) {
    text.Add(absl::StrCat(first ? "\n" : ",\n", indent, "  "));
    one(item);
    first = false;
  }
  text.Add(first ? std::string("]") : absl::StrCat("\n", indent, "]"));
}

void AddFile(Text& text, const SavedFile& file) {
  text.Add("{");
  text.Key("      ", "name", /*first=*/true);
  text.Quoted("file", file.name);
  text.Key("      ", "bytes");
  text.Add(absl::StrCat(file.bytes));
  text.Key("      ", "crc32c");
  text.Add(absl::StrCat("\"", Hex32(file.crc32c), "\""));
  text.Key("      ", "tensors");
  AddLines(text, "      ", file.tensors, [&](const SavedTensor& tensor) {
    text.Add("{\"name\": ");
    text.Quoted("tensor", tensor.name);
    text.Add(absl::StrCat(", \"crc32c\": \"", Hex32(tensor.crc32c), "\"}"));
  });
  text.Add("\n    }");
}

void AddShard(Text& text, const SavedShard& shard) {
  text.Add(absl::StrCat("{\"begin\": ", shard.begin, ", \"end\": ", shard.end,
                        ", \"file\": "));
  text.Quoted("file", shard.file);
  text.Add(absl::StrCat(", \"version\": ", shard.version, ", \"updates\": ",
                        shard.updates, ", \"momentum_product\": "));
  text.Number("momentum_product", shard.momentum_product);
  text.Add("}");
}

void AddVariable(Text& text, const SavedVariable& variable) {
  text.Add("{");
  text.Key("      ", "name", /*first=*/true);
  text.Quoted("variable", variable.name);
  text.Key("      ", "dtype");
  text.Quoted("dtype", NameOf(variable.dtype));
  text.Key("      ", "shape");
  text.Add(absl::StrCat("[", absl::StrJoin(variable.shape.dims(), ", "), "]"));
  text.Key("      ", "trainable");
  text.Add(variable.trainable ? "true" : "false");
  text.Key("      ", "optimizer");
  text.Quoted("optimizer", variable.optimizer);
  text.Key("      ", "slots");
  text.Add("[");
  for (const std::string& slot : variable.slots) {
    if (&slot != variable.slots.data()) text.Add(", ");
    text.Quoted("slot", slot);
  }
  text.Add("]");
  text.Key("      ", "shards");
  AddLines(text, "      ", variable.shards,
           [&](const SavedShard& shard) { AddShard(text, shard); });
  text.Add("\n    }");
}

void AddRecords(Text& text, const std::map<std::string, std::string>& records) {
  text.Add("{");
  bool first = true;
  for (const auto& [key, value] : records) {
    text.Key("    ", key, first);
    text.Quoted(absl::StrCat("record \"", key, "\":"), value);
    first = false;
  }
  text.Add(first ? "}" : "\n  }");
}

void AddNumbers(Text& text, const Manifest& manifest) {
  const auto number = [&](std::string_view key, auto value) {
    text.Key("  ", key);
    text.Add(absl::StrCat(value));
  };
  text.Key("  ", "save_id");
  text.Add(absl::StrCat("\"", Hex64(manifest.save_id), "\""));
  number("generation", manifest.generation);
  number("step", manifest.step);
  number("round", manifest.round);
  text.Key("  ", "applied_above");
  text.Add(absl::StrCat("[", absl::StrJoin(manifest.applied_above, ", "), "]"));
  number("created_unix_ms", manifest.created_unix_ms);
}

}  // namespace

absl::StatusOr<std::string> EncodeManifest(const Manifest& manifest) {
  Text text;
  text.Add("{");
  text.Key("  ", kManifestFormatKey, /*first=*/true);
  text.Quoted("format", kManifestFormat);
  text.Key("  ", "version");
  text.Add(absl::StrCat(kManifestVersion));
  AddNumbers(text, manifest);
  text.Key("  ", "capstan_version");
  text.Quoted("capstan_version", manifest.capstan_version);
  text.Key("  ", "files");
  AddLines(text, "  ", manifest.files,
           [&](const SavedFile& file) { AddFile(text, file); });
  text.Key("  ", "variables");
  AddLines(text, "  ", manifest.variables,
           [&](const SavedVariable& variable) { AddVariable(text, variable); });
  text.Key("  ", "records");
  AddRecords(text, manifest.records);
  absl::StatusOr<std::string> body = text.Take();
  CAPSTAN_RETURN_IF_ERROR(WithContext(body.status(), kManifestName));
  const uint32_t crc = Crc32c(AsBytes(*body));
  absl::StrAppend(&*body, ",\n  \"", ToAbsl(kManifestCrcKey), "\": \"",
                  Hex32(crc), "\"\n}\n");
  if (body->size() > kMaxManifestBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(ToAbsl(kManifestName), ": ", body->size(),
                     " bytes, more than the limit of ", kMaxManifestBytes,
                     ": keep large records in files of their own"));
  }
  return body;
}

}  // namespace capstan
