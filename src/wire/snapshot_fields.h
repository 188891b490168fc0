// The fields that the bodies of wire/snapshot.h share, and their checks. For
// use by the codecs of this folder only.
#pragma once

#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "wire/fence_fields.h"
#include "wire/snapshot.h"
#include "wire/snapshot.pb.h"

namespace capstan {

template <typename Message>
void FillKey(Message& message, const ShardKey& key) {
  message.set_variable(key.variable);
  message.set_shard(key.shard);
}

template <typename Message>
ShardKey ReadKey(const Message& message) {
  return {.variable = message.variable(), .shard = message.shard()};
}

// 0 stands for none.
inline absl::Status CheckId(const char* what, uint64_t id) {
  if (id != 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a ", what, " of 0, which stands for none"));
}

inline absl::Status CheckMomentumProduct(const ShardKey& key, double product) {
  if (std::isfinite(product)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("shard ", key.shard, " of variable ", key.variable,
                   " with a momentum product of ", product));
}

// Each shard once, and in one order everywhere. `before` may be null.
inline absl::Status CheckAscends(const ShardKey* before, const ShardKey& key) {
  if (before == nullptr || *before < key) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("shards that do not ascend: shard ", key.shard,
                   " of variable ", key.variable, " after shard ",
                   before->shard, " of variable ", before->variable));
}

void FillDirectory(wire::SharedDirectoryMessage& message,
                   const SharedDirectory& directory);
SharedDirectory ReadDirectory(const wire::SharedDirectoryMessage& message);

template <typename Message>
void FillTensors(Message& message, const std::vector<TensorSum>& tensors) {
  for (const TensorSum& tensor : tensors) {
    wire::FileTensorMessage& added = *message.add_tensors();
    added.set_name(tensor.name);
    added.set_crc32c(tensor.crc32c);
  }
}

template <typename Message>
std::vector<TensorSum> ReadTensors(const Message& message) {
  std::vector<TensorSum> tensors;
  tensors.reserve(static_cast<size_t>(message.tensors_size()));
  for (const wire::FileTensorMessage& tensor : message.tensors()) {
    tensors.push_back({.name = tensor.name(), .crc32c = tensor.crc32c()});
  }
  return tensors;
}

}  // namespace capstan
