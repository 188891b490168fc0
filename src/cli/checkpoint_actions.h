// What the commands of `capstan checkpoint` do. Each prints to standard output
// and returns the exit code; errors are thrown as capstan::Error.
#pragma once

#include <string>
#include <vector>

namespace capstan {

// Returns 1 if a checkpoint cannot be opened; prints a line for each such one.
int ListAction(const std::vector<std::string>& directories);

int ShowAction(const std::string& path, bool json);

// Returns 1 if a checkpoint is damaged; prints a line with the damaged tensors
// for each bad file. `all`: check all checkpoints of a directory, not just the
// newest.
int VerifyAction(const std::vector<std::string>& paths, bool all);

// Returns 1 if they differ.
int DiffAction(const std::string& first, const std::string& second, bool slots);

// `out` must end with .safetensors or .npz.
int ExportAction(const std::string& path, const std::string& out, bool slots);

struct PruneFlags {
  std::string directory;
  int keep = 0;
  double keep_every_hours = 0;
  bool dry_run = false;
};
// Verifies the checkpoints to keep first. Returns 1 if one cannot be opened or
// is damaged: it is left alone, and another is kept in its place.
int PruneAction(const PruneFlags& flags);

}  // namespace capstan
