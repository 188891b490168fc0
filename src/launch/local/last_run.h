#pragma once

#include <string>

namespace capstan {

// The cluster file that the last `capstan run` in `folder` wrote, for
// FileClusterResolver ("runs/20231115-222901-1778/cluster.yaml"), or "" if
// there is none.
std::string LastClusterFile(const std::string& folder = ".");

}  // namespace capstan
