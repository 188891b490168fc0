// What the commands of `capstan checkpoint` do. Each prints to standard output
// and returns the exit code; what goes wrong is thrown as capstan::Error.
#pragma once

#include <string>
#include <vector>

namespace capstan {

// 1 if a checkpoint cannot be opened; each such has a line.
int ListAction(const std::vector<std::string>& directories);

int ShowAction(const std::string& path, bool json);

// 1 if one is bad; each bad file has a line with its bad tensors. `all`: of a
// directory, not just the newest.
int VerifyAction(const std::vector<std::string>& paths, bool all);

// 1 if they differ.
int DiffAction(const std::string& first, const std::string& second, bool slots);

// `out` ends with .safetensors or .npz.
int ExportAction(const std::string& path, const std::string& out, bool slots);

struct PruneFlags {
  std::string directory;
  int keep = 0;
  double keep_every_hours = 0;
  bool dry_run = false;
};
// Those that stay are verified first. 1 if one cannot be opened or is bad: such
// are left alone, and others stay in their place.
int PruneAction(const PruneFlags& flags);

}  // namespace capstan
