// Parsed event by event and not into a tree of values: a hostile manifest of
// 256 MiB would make a tree of gigabytes. The grammar is in manifest_grammar.h:
// each key has a target for its value, and an event that does not fit it is an
// error.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "checkpoint/manifest_grammar.h"
#include "checkpoint/manifest_json.h"
#include "checkpoint/tensor_file/hex_text.h"
#include "checkpoint/tensor_file/shown_text.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace capstan {
namespace {

using manifest_grammar::Checksum;
using manifest_grammar::Crc;
using manifest_grammar::Dims;
using manifest_grammar::FindTarget;
using manifest_grammar::Format;
using manifest_grammar::Keys;
using manifest_grammar::kFileKeys;
using manifest_grammar::kShardKeys;
using manifest_grammar::kTensorKeys;
using manifest_grammar::kTopKeys;
using manifest_grammar::kVariableKeys;
using manifest_grammar::Nowhere;
using manifest_grammar::Records;
using manifest_grammar::SaveId;
using manifest_grammar::Target;
using manifest_grammar::Type;
using manifest_grammar::Version;

using Json = nlohmann::json;

// An object or array that is open.
struct Level {
  Target array = Nowhere();  // of an array: where its elements go
  Keys keys = {};            // of an object; empty for the records
  uint32_t seen = 0;         // bit i: keys[i]
  bool is_array = false;
};

// Each event returns false to stop; then status() says why.
class ManifestHandler final : public nlohmann::json_sax<Json> {
 public:
  const absl::Status& status() const { return status_; }
  Manifest& manifest() { return manifest_; }

  bool start_object(size_t /*count*/) override {
    if (levels_.empty()) return Enter({.keys = kTopKeys});
    if (!InArray()) {
      const bool records = std::holds_alternative<Records>(target_);
      return records ? Enter({}) : Unexpected("an object");
    }
    const Target& array = levels_.back().array;
    if (const auto* files = std::get_if<std::vector<SavedFile>*>(&array)) {
      (*files)->emplace_back();
      return Enter({.keys = kFileKeys});
    }
    if (const auto* tensors = std::get_if<std::vector<SavedTensor>*>(&array)) {
      (*tensors)->emplace_back();
      return Enter({.keys = kTensorKeys});
    }
    if (const auto* variables =
            std::get_if<std::vector<SavedVariable>*>(&array)) {
      (*variables)->emplace_back();
      return Enter({.keys = kVariableKeys});
    }
    if (const auto* shards = std::get_if<std::vector<SavedShard>*>(&array)) {
      (*shards)->emplace_back();
      return Enter({.keys = kShardKeys});
    }
    return Unexpected("an object");
  }

  bool end_object() override {
    const Level level = levels_.back();
    for (size_t i = 0; i < level.keys.size(); ++i) {
      if ((level.seen >> i & 1) == 0) {
        return Stop(
            absl::StrCat("the key ", Shown(level.keys[i]), " is missing"));
      }
    }
    return Leave();
  }

  bool start_array(size_t /*count*/) override {
    if (InArray() || !IsArray(target_)) return Unexpected("an array");
    if (std::holds_alternative<Dims>(target_)) dims_.clear();
    return Enter({.array = target_, .is_array = true});
  }

  bool end_array() override {
    if (std::holds_alternative<Dims>(levels_.back().array)) {
      const absl::StatusOr<Shape> shape = MakeShape(dims_);
      if (!shape.ok()) return Stop(std::string(shape.status().message()));
      manifest_.variables.back().shape = *shape;
    }
    return Leave();
  }

  bool key(std::string& key) override {
    Level& level = levels_.back();
    key_ = key;
    if (level.keys.empty()) {
      const auto [at, is_new] = manifest_.records.emplace(key, "");
      target_ = &at->second;
      return is_new || Stop(absl::StrCat("record ", Shown(key), " twice"));
    }
    const auto found = std::find(level.keys.begin(), level.keys.end(), key);
    if (found == level.keys.end()) {
      return Stop(absl::StrCat("the key ", Shown(key), " is not known"));
    }
    const auto i = found - level.keys.begin();
    const uint32_t bit = uint32_t{1} << i;
    if ((level.seen & bit) != 0) {
      return Stop(absl::StrCat("the key ", Shown(key), " is there twice"));
    }
    // Later versions may have other keys, but these come first in all of them.
    if (levels_.size() == 1 && i > 1 && (level.seen & 3) != 3) {
      return Stop("it does not begin with its format and version");
    }
    level.seen |= bit;
    target_ = FindTarget(manifest_, level.keys, key);
    return true;
  }

  bool string(std::string& text) override {
    const Target target = Next();
    if (auto* const* to = std::get_if<std::string*>(&target)) {
      **to = std::move(text);
      return true;
    }
    if (auto* const* list = std::get_if<std::vector<std::string>*>(&target)) {
      (*list)->push_back(std::move(text));
      return true;
    }
    if (std::holds_alternative<Format>(target)) {
      return text == kManifestFormat ||
             Stop(absl::StrCat("its format is ", Shown(text)));
    }
    if (std::holds_alternative<Checksum>(target)) return true;
    if (const auto* id = std::get_if<SaveId>(&target)) {
      return Set(ParseHex64(text), *id->value) || NotHex(text);
    }
    if (const auto* crc = std::get_if<Crc>(&target)) {
      return Set(ParseHex32(text), *crc->value) || NotHex(text);
    }
    if (const auto* type = std::get_if<Type>(&target)) {
      const absl::StatusOr<DType> dtype = ParseDType(text);
      if (!dtype.ok()) return Stop(std::string(dtype.status().message()));
      *type->value = *dtype;
      return true;
    }
    return Unexpected("a string");
  }

  bool number_unsigned(uint64_t value) override {
    const Target target = Next();
    if (std::holds_alternative<Version>(target)) return CheckVersion(value);
    if (auto* const* to = std::get_if<uint64_t*>(&target)) {
      **to = value;
      return true;
    }
    if (auto* const* list = std::get_if<std::vector<uint64_t>*>(&target)) {
      (*list)->push_back(value);
      return true;
    }
    if (std::holds_alternative<Dims>(target) && InArray()) {
      return AddDim(value);
    }
    if (auto* const* to = std::get_if<int64_t*>(&target)) {
      return Set(CheckedCast<int64_t>(value), **to) ||
             Unexpected(absl::StrCat("the number ", value));
    }
    if (auto* const* to = std::get_if<double*>(&target)) {
      **to = static_cast<double>(value);
      return true;
    }
    return Unexpected("a number");
  }

  // Negative ones only.
  bool number_integer(int64_t value) override {
    const Target target = Next();
    if (auto* const* to = std::get_if<int64_t*>(&target)) {
      **to = value;
      return true;
    }
    if (auto* const* to = std::get_if<double*>(&target)) {
      **to = static_cast<double>(value);
      return true;
    }
    return Unexpected(absl::StrCat("the number ", value));
  }

  bool number_float(double value, const std::string& text) override {
    const Target target = Next();
    if (auto* const* to = std::get_if<double*>(&target)) {
      **to = value;
      return true;
    }
    return Unexpected(absl::StrCat("the number ", text));
  }

  bool boolean(bool value) override {
    const Target target = Next();
    if (auto* const* to = std::get_if<bool*>(&target)) {
      **to = value;
      return true;
    }
    return Unexpected(value ? "true" : "false");
  }

  bool null() override { return Unexpected("null"); }
  bool binary(Json::binary_t& /*value*/) override {
    return Unexpected("binary data");
  }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    return Stop(absl::StrCat("no JSON at its byte ", position));
  }

 private:
  static bool IsArray(const Target& target) {
    return std::holds_alternative<Dims>(target) ||
           std::holds_alternative<std::vector<uint64_t>*>(target) ||
           std::holds_alternative<std::vector<std::string>*>(target) ||
           std::holds_alternative<std::vector<SavedFile>*>(target) ||
           std::holds_alternative<std::vector<SavedTensor>*>(target) ||
           std::holds_alternative<std::vector<SavedVariable>*>(target) ||
           std::holds_alternative<std::vector<SavedShard>*>(target);
  }

  bool InArray() const { return !levels_.empty() && levels_.back().is_array; }

  // Where a value that is neither an object nor an array goes.
  Target Next() const {
    if (InArray()) return levels_.back().array;
    // The target of an array accepts arrays only.
    return levels_.empty() || IsArray(target_) ? Target() : target_;
  }

  bool Enter(const Level& level) {
    levels_.push_back(level);
    target_ = Nowhere();
    return true;
  }
  bool Leave() {
    levels_.pop_back();
    target_ = Nowhere();
    return true;
  }

  template <typename T>
  static bool Set(const std::optional<T>& value, T& to) {
    if (value) to = *value;
    return value.has_value();
  }

  bool AddDim(uint64_t value) {
    const std::optional<int64_t> dim = CheckedCast<int64_t>(value);
    if (!dim || dims_.size() >= Shape::kMaxRank) {
      return Stop(absl::StrCat(
          "a shape with ",
          dim ? absl::StrCat("more than ", Shape::kMaxRank, " dims")
              : absl::StrCat("the dim ", value)));
    }
    dims_.push_back(*dim);
    return true;
  }

  bool CheckVersion(uint64_t version) {
    if (version == kManifestVersion) return true;
    return Stop(
        absl::StrCat("the checkpoint is of format version ", version,
                     ", but this program knows version ", kManifestVersion,
                     version > kManifestVersion ? ": use a newer Capstan" : ""),
        absl::StatusCode::kInvalidArgument);
  }

  bool NotHex(std::string_view text) {
    return Stop(
        absl::StrCat(Shown(text), " is not the text of a ", Shown(key_)));
  }

  // Stops with the error `why`, prefixed with what is being parsed.
  bool Stop(const std::string& why,
            absl::StatusCode code = absl::StatusCode::kDataLoss) {
    status_ = absl::Status(code, absl::StrCat(About(), why));
    return false;
  }

  bool Unexpected(const std::string& what) {
    return Stop(absl::StrCat(
        what, " where none belongs",
        key_.empty() ? "" : absl::StrCat(", after the key ", Shown(key_))));
  }

  // What is being described, for messages.
  std::string About() const {
    for (const Level& level : levels_) {
      if (level.keys.data() == kFileKeys.data()) {
        return absl::StrCat("file ", Shown(manifest_.files.back().name), ": ");
      }
      if (level.keys.data() == kVariableKeys.data()) {
        return absl::StrCat("variable ", Shown(manifest_.variables.back().name),
                            ": ");
      }
    }
    return "";
  }

  std::vector<Level> levels_;  // at most five
  Target target_;
  std::string key_;  // the most recent one
  std::vector<int64_t> dims_;
  Manifest manifest_;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<Manifest> ParseManifestJson(std::string_view json) {
  // The parser would skip a byte order mark.
  if (!json.starts_with('{')) {
    return absl::DataLossError("it does not begin with {");
  }
  // The parser takes a NUL for the end, and would ignore what follows.
  if (json.find('\0') != json.npos) {
    return absl::DataLossError("it holds a NUL");
  }
  ManifestHandler handler;
  if (!Json::sax_parse(json.begin(), json.end(), &handler)) {
    return handler.status();
  }
  return std::move(handler.manifest());
}

}  // namespace capstan
