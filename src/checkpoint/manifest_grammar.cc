#include "checkpoint/manifest_grammar.h"

namespace capstan::manifest_grammar {

Target FindTarget(Manifest& manifest, Keys keys, std::string_view key) {
  Manifest& top = manifest;
  if (keys.data() == kTopKeys.data()) {
    if (key == kManifestFormatKey) return Format();
    if (key == "version") return Version();
    if (key == "save_id") return SaveId{&top.save_id};
    if (key == "generation") return &top.generation;
    if (key == "step") return &top.step;
    if (key == "round") return &top.round;
    if (key == "applied_above") return &top.applied_above;
    if (key == "created_unix_ms") return &top.created_unix_ms;
    if (key == "capstan_version") return &top.capstan_version;
    if (key == "files") return &top.files;
    if (key == "variables") return &top.variables;
    if (key == "records") return Records();
    return Checksum();
  }
  if (keys.data() == kFileKeys.data()) {
    SavedFile& file = top.files.back();
    if (key == "name") return &file.name;
    if (key == "bytes") return &file.bytes;
    if (key == "crc32c") return Crc{&file.crc32c};
    return &file.tensors;
  }
  if (keys.data() == kTensorKeys.data()) {
    SavedTensor& tensor = top.files.back().tensors.back();
    if (key == "name") return &tensor.name;
    return Crc{&tensor.crc32c};
  }
  SavedVariable& variable = top.variables.back();
  if (keys.data() == kVariableKeys.data()) {
    if (key == "name") return &variable.name;
    if (key == "dtype") return Type{&variable.dtype};
    if (key == "shape") return Dims();
    if (key == "trainable") return &variable.trainable;
    if (key == "optimizer") return &variable.optimizer;
    if (key == "slots") return &variable.slots;
    return &variable.shards;
  }
  SavedShard& shard = variable.shards.back();
  if (key == "begin") return &shard.begin;
  if (key == "end") return &shard.end;
  if (key == "file") return &shard.file;
  if (key == "version") return &shard.version;
  if (key == "updates") return &shard.updates;
  return &shard.momentum_product;
}

}  // namespace capstan::manifest_grammar
