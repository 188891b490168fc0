// The names in a directory of checkpoints. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace capstan {

// Prefixes of a checkpoint that is being written or removed.
inline constexpr std::string_view kBeingWritten = ".tmp-";
inline constexpr std::string_view kBeingRemoved = ".old-";

// "ckpt-12" of 12.
std::string CheckpointName(uint64_t number);

// 12 of "ckpt-12"; nullopt for any other text, such as "ckpt-012". Numbers have
// at most 18 digits, so that there is always a next one.
std::optional<uint64_t> CheckpointNumber(std::string_view name);

}  // namespace capstan
