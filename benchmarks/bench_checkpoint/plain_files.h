// The limit: system calls with nothing above them, as many files at once as
// there are servers, a thread for each. Functions block; errors name the file.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace capstan::bench {

// A file, and the memory that it is written from or read into, all of it.
struct PlainFile {
  std::string path;
  MutableBytes memory;
};

// The seconds that it takes to write all, which must not exist, in pieces of
// 4 MiB, and to sync and close them.
absl::StatusOr<double> WritePlain(std::span<const PlainFile> files);
// The seconds that it takes to read all, in pieces of 4 MiB.
absl::StatusOr<double> ReadPlain(std::span<const PlainFile> files);

// The seconds that one thread takes to copy.
double CopyPlain(MutableBytes to, Bytes from);

// Lets the page cache forget the file, which was synced.
absl::Status ForgetCached(const std::string& path);
// Waits until nothing is left to be written on the file system of `directory`,
// so that what is timed next does not wait for what was written before.
absl::Status SettleDisk(const std::string& directory);
// "ext4"; the magic number of one that is not known.
std::string FileSystemName(const std::string& directory);

}  // namespace capstan::bench
