#include "capstan/version.h"

#define CAPSTAN_QUOTE_(text) #text
#define CAPSTAN_QUOTE(macro) CAPSTAN_QUOTE_(macro)

namespace capstan {

std::string_view Version() noexcept {
  return CAPSTAN_QUOTE(CAPSTAN_VERSION_MAJOR) "." CAPSTAN_QUOTE(
      CAPSTAN_VERSION_MINOR) "." CAPSTAN_QUOTE(CAPSTAN_VERSION_PATCH);
}

}  // namespace capstan
