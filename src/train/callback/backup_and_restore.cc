#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/callback.h"
#include "capstan/error.h"

namespace capstan {

// Fit does the work (train/fit/fit_checkpoints.cc), because only Fit knows
// which batches are done.
BackupAndRestore::BackupAndRestore(std::string directory,
                                   BackupAndRestoreOptions options)
    : directory_(std::move(directory)), options_(options) {
  if (directory_.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "BackupAndRestore: the directory must not be empty");
  }
  if (options_.save_freq && *options_.save_freq < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("BackupAndRestore: save_freq must be at least 1, "
                             "not ",
                             *options_.save_freq));
  }
}
BackupAndRestore::~BackupAndRestore() = default;

}  // namespace capstan
