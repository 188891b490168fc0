// What reading a file may throw: capstan::Error, and nothing else.
#pragma once

#include <concepts>
#include <exception>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace capstan {

// Calls `read`. An exception that is not an Error, such as std::bad_alloc for a
// record that does not fit in memory, becomes one that names the file.
template <std::invocable Read>
std::invoke_result_t<Read> OnlyErrors(const std::string& path,
                                      const Read& read) {
  try {
    return read();
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    throw ToError(WithContext(StatusOfCurrentException(), path));
  }
}

}  // namespace capstan
