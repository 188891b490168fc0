// What this machine allows a process to do, as reported by the system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "launch/system/cpu_features.h"

namespace capstan {

// An unset field: the system does not report it.
struct MachineFacts {
  // Where a limit is possible but none is set.
  static constexpr uint64_t kUnlimited = UINT64_MAX;

  // "Linux 6.1.0-18-amd64"; "" if not known.
  std::string kernel = {};
  // The cores that this process may use, and their features.
  std::optional<int> cores = std::nullopt;
  CpuFeatures cpu = {};
  // The kernel's setting: "always", "madvise", "never"; "" if not known.
  std::string huge_pages = {};
  // Descriptors per process: the current limit, and how far it may raise that.
  std::optional<uint64_t> open_files = std::nullopt;
  std::optional<uint64_t> open_files_hard = std::nullopt;
  // Threads of this user, or of this container if its limit is lower.
  std::optional<uint64_t> threads = std::nullopt;
  // Bytes available without swapping, on this machine or in this container.
  std::optional<uint64_t> memory_bytes = std::nullopt;
  // Connections that may be waiting to be accepted.
  std::optional<uint64_t> somaxconn = std::nullopt;
  // Where the program was started, the free space there, and whether it is
  // writable.
  std::string folder = {};
  std::optional<uint64_t> disk_bytes = std::nullopt;
  bool folder_is_writable = false;
  // Whether a program, such as an NTP client, has told the kernel that the
  // clock is right.
  std::optional<bool> clock_is_synchronised = std::nullopt;
};

// Asks the system. Thread-safe.
MachineFacts ReadMachineFacts(const std::string& folder);

}  // namespace capstan
