#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "capstan/dataset.h"

namespace capstan {

int64_t InputContext::PerReplicaBatchSize(int64_t global) const {
  if (num_replicas_in_sync < 1) {
    ThrowIfError(absl::InvalidArgumentError(
        absl::StrCat("InputContext: num_replicas_in_sync is ",
                     num_replicas_in_sync, "; it must be at least 1")));
  }
  if (global < 1 || global % num_replicas_in_sync != 0) {
    ThrowIfError(absl::InvalidArgumentError(absl::StrCat(
        "InputContext: the global batch size is ", global,
        "; it must be a positive multiple of num_replicas_in_sync, ",
        num_replicas_in_sync)));
  }
  return global / num_replicas_in_sync;
}

}  // namespace capstan
