// Suggests what a user may have meant by an unknown word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace capstan {

// How many letters must be inserted, deleted, replaced or swapped with their
// neighbour to turn `a` into `b`, without editing a letter twice. Pure;
// thread-safe.
size_t EditDistance(std::string_view a, std::string_view b);

// The word of `known` nearest to `word`: at most 2 edits away, and less than
// half of its letters wrong; the first if there are several. "" if there is
// none. Pure; thread-safe.
std::string NearestWord(std::string_view word,
                        const std::vector<std::string>& known);

}  // namespace capstan
