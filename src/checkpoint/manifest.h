// The manifest of a checkpoint: what it holds, in which files, with which
// checksums. docs/checkpoint_format.md has the format.
//
// A checkpoint is a directory: manifest.json, and one safetensors file for each
// server that held variables. Tensors in the files are shards: rows
// [begin, end) of a variable are called "name[begin:end]", and slot "momentum"
// of the same rows "name[begin:end].momentum".
//
// Pure functions and values; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/tensor.h"

namespace capstan {

inline constexpr int kManifestVersion = 1;
inline constexpr std::string_view kManifestName = "manifest.json";
// A manifest that claims to be larger is refused before it is read.
inline constexpr uint64_t kMaxManifestBytes = uint64_t{256} << 20;

// A tensor in a file: its name, and the CRC-32C of its bytes.
struct SavedTensor {
  std::string name;
  uint32_t crc32c = 0;
  friend bool operator==(const SavedTensor&, const SavedTensor&) = default;
};

// A file of the checkpoint, which holds exactly these tensors, in this order.
struct SavedFile {
  std::string name;  // "server-0.safetensors"
  uint64_t bytes = 0;
  uint32_t crc32c = 0;  // of the whole file
  std::vector<SavedTensor> tensors;
  friend bool operator==(const SavedFile&, const SavedFile&) = default;
};

// Rows [begin, end) of a variable, with the optimizer's state for them.
struct SavedShard {
  int64_t begin = 0;
  int64_t end = 0;
  std::string file;
  uint64_t version = 0;         // of the shard when it was saved
  uint64_t updates = 0;         // OptimizerState::updates
  double momentum_product = 1;  // OptimizerState::momentum_product
  friend bool operator==(const SavedShard&, const SavedShard&) = default;
};

struct SavedVariable {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  bool trainable = true;
  std::string optimizer;           // "adam"; empty if it has none
  std::vector<std::string> slots;  // of the optimizer, in its order
  std::vector<SavedShard> shards;  // adjacent, in order, covering all rows
  friend bool operator==(const SavedVariable&, const SavedVariable&) = default;
};

struct Manifest {
  uint64_t save_id = 0;  // random; also in each file ("save_id", in hex)
  uint64_t generation = 0;
  uint64_t step = 0;   // every step up to this is applied
  uint64_t round = 0;  // the last synchronous round that was committed
  // Steps above `step` that are applied too, such as assignments; ascending.
  std::vector<uint64_t> applied_above;
  int64_t created_unix_ms = 0;
  std::string capstan_version;
  std::vector<SavedFile> files;
  std::vector<SavedVariable> variables;  // ascending by name
  // What parts of the program have to remember, such as a Trainer its place in
  // the data; keyed by owner. UTF-8 text.
  std::map<std::string, std::string> records;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// The names of tensors in the files; `slot` is empty for the values.
std::string ShardTensorName(std::string_view variable, int64_t begin,
                            int64_t end, std::string_view slot = {});

// The text of manifest.json. InvalidArgument, naming the string, for one that
// is not UTF-8.
absl::StatusOr<std::string> EncodeManifest(const Manifest& manifest);

// Parses and fully checks the text: its own checksum first, so that any changed
// bit and any truncation is reported as DataLoss; then that everything is
// consistent (the shards of each variable cover its rows, every tensor that
// they need is in its file once and no other is, sizes do not overflow, names
// are valid). InvalidArgument for a version newer than this program's, naming
// both.
absl::StatusOr<Manifest> DecodeManifest(std::string_view text);

// OK for a valid name of a checkpoint, or of a file in one: 1 to 128 of
// [A-Za-z0-9._-], not beginning with a dot. Otherwise InvalidArgument, quoting
// it.
absl::Status CheckFileName(std::string_view name);

}  // namespace capstan
