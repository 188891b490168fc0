#include "checkpoint/checkpoint_name.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

constexpr std::string_view kPrefix = "ckpt-";
constexpr size_t kMostDigits = 18;

}  // namespace

std::string CheckpointName(uint64_t number) {
  return absl::StrCat(absl::string_view(kPrefix.data(), kPrefix.size()),
                      number);
}

std::optional<uint64_t> CheckpointNumber(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPrefix.size());
  uint64_t number = 0;
  if (digits.size() > kMostDigits ||
      !absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()),
                        &number) ||
      CheckpointName(number) != name) {
    return std::nullopt;
  }
  return number;
}

}  // namespace capstan
