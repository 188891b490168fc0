// The environment of this process, in the form in which a new process takes it.
#pragma once

#include <string>
#include <vector>

namespace capstan {

// All variables, as "NAME=value". Must not run while another thread changes the
// environment.
std::vector<std::string> ProcessVariables();

}  // namespace capstan
