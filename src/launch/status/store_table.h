// What parameter servers hold and have done, as text for people.
// Pure functions; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "launch/status/ask_status.h"

namespace capstan {

// One line per server; "" if none holds a variable.
std::string StoresTable(const std::vector<ServerStore>& stores);

// One line per shard of each variable.
std::string VariablesTable(const std::vector<ServerStore>& stores);

}  // namespace capstan
