// The two list notations that Slurm uses in its variables.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

// The most hosts, or tasks, that a list may expand to.
inline constexpr int kMaxSlurmList = 65'536;

// The hosts of a node list, in its order:
//
//   list  = item *("," item)
//   item  = 1*(text / "[" range *("," range) "]")
//   range = number ["-" number]
//
// "node[01-03,7],gpu-[1-2]x[3-4],login" is node01 node02 node03 node7 gpu-1x3
// gpu-1x4 gpu-2x3 gpu-2x4 login: the numbers of a range are zero-padded to the
// length of its first, and with several brackets the last varies fastest. A
// text consists of letters, digits, '.', '-' and '_'. InvalidArgument, with the
// column, for any other list, or one of more than kMaxSlurmList hosts.
absl::StatusOr<std::vector<std::string>> ExpandNodeList(std::string_view list);

// The numbers of a list: "2(x3),1" is 2 2 2 1. InvalidArgument for any other
// text, for a number outside [1, kMaxSlurmList], or if the count or the sum of
// the numbers exceeds kMaxSlurmList.
absl::StatusOr<std::vector<int>> ExpandTasksPerNode(std::string_view list);

}  // namespace capstan
