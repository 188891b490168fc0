// Catches what a call throws, for tests of the public API. Test-only.
#pragma once

#include <concepts>
#include <string>

#include "capstan/error.h"

namespace capstan {

// The text of the Error that `call` throws: "the message (InvalidArgument)".
template <std::invocable Call>
std::string Thrown(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace capstan
