// The state of a callback as text: a few numbers, each of which may be missing.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace capstan {

std::string EncodeState(std::initializer_list<std::optional<double>> numbers);
// Returns `count` numbers, all of them missing if `text` is malformed. Pure.
std::vector<std::optional<double>> DecodeState(const std::string& text,
                                               size_t count);

}  // namespace capstan
