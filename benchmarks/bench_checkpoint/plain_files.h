// The limit: system calls with nothing above them, on as many files at once as
// there are servers, with one thread each. Functions block; errors name the
// file.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace capstan::bench {

// A file, and the memory to write to it or to fill from it.
struct PlainFile {
  std::string path;
  MutableBytes memory;
};

// Writes all files, which must not exist, in pieces of 4 MiB, syncs and closes
// them. Returns the seconds it takes.
absl::StatusOr<double> WritePlain(std::span<const PlainFile> files);
// Reads all files in pieces of 4 MiB. Returns the seconds it takes.
absl::StatusOr<double> ReadPlain(std::span<const PlainFile> files);

// The seconds that one thread needs to copy `from`.
double CopyPlain(MutableBytes to, Bytes from);

// Drops the file, which must be synced, from the page cache.
absl::Status ForgetCached(const std::string& path);
// Waits until the file system of `directory` has no pending writes, so that
// they do not slow down what is timed next.
absl::Status SettleDisk(const std::string& directory);
// "ext4"; the magic number of an unknown file system.
std::string FileSystemName(const std::string& directory);

}  // namespace capstan::bench
