#include "transport/certificate_names.h"

#include <algorithm>

namespace capstan {
namespace {

constexpr std::string_view kScheme = "capstan:";
constexpr size_t kMaxRole = 32;
constexpr size_t kMaxDigits = 9;

bool IsRole(std::string_view text) {
  return !text.empty() && text.size() <= kMaxRole &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 'a' && c <= 'z'; });
}

bool IsIndex(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         (text == "0" || text.front() != '0') &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

// Calls `match` for each name until it returns true.
template <typename Match>
bool AnyName(std::string_view names, const Match& match) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    if (match(name)) return true;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return false;
}

}  // namespace

std::optional<std::string> CertificateName(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  const std::string_view name = uri.substr(kScheme.size());
  const size_t slash = name.find('/');
  if (!IsRole(name.substr(0, slash))) return std::nullopt;
  if (slash != std::string_view::npos && !IsIndex(name.substr(slash + 1))) {
    return std::nullopt;
  }
  return std::string(name);
}

bool CertificateNamesTask(std::string_view names, std::string_view role,
                          uint32_t index) {
  const std::string task = std::string(role) + "/" + std::to_string(index);
  return AnyName(names, [&](std::string_view name) {
    return name == role || name == task;
  });
}

bool CertificateNamesRole(std::string_view names, std::string_view role) {
  return AnyName(names, [&](std::string_view name) {
    return name.substr(0, name.find('/')) == role;
  });
}

}  // namespace capstan
