#pragma once

#include <string>

namespace capstan {

// The file, as for FileClusterResolver, that the last `capstan run` in `folder`
// has written about its cluster ("runs/20231115-222901-1778/cluster.yaml"), or
// "" if there is none.
std::string LastClusterFile(const std::string& folder = ".");

}  // namespace capstan
