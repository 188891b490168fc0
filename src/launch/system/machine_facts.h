// What this machine allows a process to do, as the system says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/system/cpu_features.h"

namespace capstan {

// Not set: the system does not say.
struct MachineFacts {
  // No limit, where there could be one.
  static constexpr uint64_t kUnlimited = UINT64_MAX;

  // "Linux 6.1.0-18-amd64"; "" if not known.
  std::string kernel = {};
  // That this process may use, and what they can.
  std::optional<int> cores = std::nullopt;
  CpuFeatures cpu = {};
  // The kernel's setting: "always", "madvise", "never"; "" if not known.
  std::string huge_pages = {};
  // Descriptors of a process: now, and as far as it may raise that itself.
  std::optional<uint64_t> open_files = std::nullopt;
  std::optional<uint64_t> open_files_hard = std::nullopt;
  // Threads of this user, or of this container if it may have fewer.
  std::optional<uint64_t> threads = std::nullopt;
  // Bytes that can still be had without swapping, here or in this container.
  std::optional<uint64_t> memory_bytes = std::nullopt;
  // Connections that may wait to be accepted.
  std::optional<uint64_t> somaxconn = std::nullopt;
  // Where the program was started, what is free there, and whether it may
  // write.
  std::string folder = {};
  std::optional<uint64_t> disk_bytes = std::nullopt;
  bool folder_is_writable = false;
  // Whether somebody, an NTP client say, has told the kernel that the clock is
  // right.
  std::optional<bool> clock_is_synchronised = std::nullopt;
};

// Asks the system. Thread-safe.
MachineFacts ReadMachineFacts(const std::string& folder);

}  // namespace capstan
