// The environment of this process as a new process is given it.
#pragma once

#include <string>
#include <vector>

namespace capstan {

// All variables, as "NAME=value". Not while another thread changes them.
std::vector<std::string> ProcessVariables();

}  // namespace capstan
