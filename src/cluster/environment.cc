#include <unistd.h>

#include "capstan/resolver.h"

namespace capstan {

Environment Environment::Of(
    const std::map<std::string, std::string>& variables) {
  Environment given;
  given.variables_.insert(variables.begin(), variables.end());
  return given;
}

Environment Environment::FromProcess() {
  Environment taken;
  if (environ == nullptr) return taken;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    // The first variable with a name counts, as in the C library.
    taken.variables_.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return taken;
}

std::optional<std::string> Environment::Get(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

bool Environment::Has(std::string_view name) const noexcept {
  return variables_.find(name) != variables_.end();
}

}  // namespace capstan
