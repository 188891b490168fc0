// The two notations in which Slurm writes lists in its variables.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

// The most hosts, or tasks, that a list may stand for.
inline constexpr int kMaxSlurmList = 65'536;

// The hosts of a node list, in its order:
//
//   list  = item *("," item)
//   item  = 1*(text / "[" range *("," range) "]")
//   range = number ["-" number]
//
// "node[01-03,7],gpu-[1-2]x[3-4],login" is node01 node02 node03 node7 gpu-1x3
// gpu-1x4 gpu-2x3 gpu-2x4 login: numbers of a range are padded with zeros to
// the length of its first, and of several brackets the last changes fastest.
// A text has letters, digits, '.', '-' and '_'. InvalidArgument, with the
// column, for any other list, or one of more than kMaxSlurmList hosts.
absl::StatusOr<std::vector<std::string>> ExpandNodeList(std::string_view list);

// The numbers of a list such as "2(x3),1", which is 2 2 2 1. InvalidArgument
// for any other text, for a number that is not in [1, kMaxSlurmList], or if
// they are more than kMaxSlurmList or add up to more.
absl::StatusOr<std::vector<int>> ExpandTasksPerNode(std::string_view list);

}  // namespace capstan
