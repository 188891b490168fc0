// The keys of a manifest, and where the value of each goes. For
// parse_manifest_json.cc. Thread-safe: constants and a pure function.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "checkpoint/manifest.h"
#include "checkpoint/manifest_json.h"

namespace capstan::manifest_grammar {

inline constexpr std::array<std::string_view, 13> kTopKeys = {
    kManifestFormatKey,
    "version",
    "save_id",
    "generation",
    "step",
    "round",
    "applied_above",
    "created_unix_ms",
    "capstan_version",
    "files",
    "variables",
    "records",
    kManifestCrcKey};
inline constexpr std::array<std::string_view, 4> kFileKeys = {
    "name", "bytes", "crc32c", "tensors"};
inline constexpr std::array<std::string_view, 2> kTensorKeys = {"name",
                                                                "crc32c"};
inline constexpr std::array<std::string_view, 7> kVariableKeys = {
    "name", "dtype", "shape", "trainable", "optimizer", "slots", "shards"};
inline constexpr std::array<std::string_view, 6> kShardKeys = {
    "begin", "end", "file", "version", "updates", "momentum_product"};

// The keys of an object: one of the tables above.
using Keys = std::span<const std::string_view>;

// Where the next value goes. A target has its own tag type if the text of its
// value is more than just the value.
struct Nowhere {};
struct Format {};
struct Version {};
struct Checksum {};  // checked before parsing
struct SaveId {
  uint64_t* value;
};
struct Crc {
  uint32_t* value;
};
struct Type {
  DType* value;
};
struct Dims {};
struct Records {};
using Target =
    std::variant<Nowhere, Format, Version, Checksum, SaveId, Crc, Type, Dims,
                 Records, std::string*, uint64_t*, int64_t*, double*, bool*,
                 std::vector<uint64_t>*, std::vector<std::string>*,
                 std::vector<SavedFile>*, std::vector<SavedTensor>*,
                 std::vector<SavedVariable>*, std::vector<SavedShard>*>;

// Where the value of `key` goes, which is one of `keys`: into the last file,
// tensor, variable or shard of `manifest`, which must exist.
Target FindTarget(Manifest& manifest, Keys keys, std::string_view key);

}  // namespace capstan::manifest_grammar
