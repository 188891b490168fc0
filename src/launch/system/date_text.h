// A date for people to read.
#pragma once

#include <string>

#include "base/async/clock.h"

namespace capstan {

// "2027-11-16", in UTC.
std::string DateText(WallTime time);

}  // namespace capstan
