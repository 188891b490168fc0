#include "bench_checkpoint/plain_files.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "harness/socket_address.h"

namespace capstan::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kPieceBytes = 4 << 20;

absl::Status Failed(const char* what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path));
}

absl::Status WriteOne(const PlainFile& file) {
  const Descriptor fd(
      open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd.get() < 0) return Failed("create", file.path);
  Bytes left = file.memory;
  while (!left.empty()) {
    const ssize_t wrote =
        write(fd.get(), left.data(), std::min(left.size(), kPieceBytes));
    if (wrote <= 0) return Failed("write", file.path);
    left = left.subspan(static_cast<size_t>(wrote));
  }
  if (fsync(fd.get()) != 0) return Failed("sync", file.path);
  return absl::OkStatus();
}

absl::Status ReadOne(const PlainFile& file) {
  const Descriptor fd(open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return Failed("open", file.path);
  MutableBytes left = file.memory;
  while (!left.empty()) {
    const ssize_t got =
        read(fd.get(), left.data(), std::min(left.size(), kPieceBytes));
    if (got <= 0) return Failed("read", file.path);
    left = left.subspan(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

absl::StatusOr<double> TimeAll(std::span<const PlainFile> files,
                               absl::Status (*one)(const PlainFile&)) {
  std::vector<absl::Status> results(files.size());
  std::vector<std::thread> threads;
  const SteadyClock::time_point start = SteadyClock::now();
  for (size_t i = 0; i < files.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = one(files[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> taken = SteadyClock::now() - start;
  for (const absl::Status& result : results) CAPSTAN_RETURN_IF_ERROR(result);
  return taken.count();
}

}  // namespace

absl::StatusOr<double> WritePlain(std::span<const PlainFile> files) {
  return TimeAll(files, WriteOne);
}

absl::StatusOr<double> ReadPlain(std::span<const PlainFile> files) {
  return TimeAll(files, ReadOne);
}

double CopyPlain(MutableBytes to, Bytes from) {
  const SteadyClock::time_point start = SteadyClock::now();
  std::memcpy(to.data(), from.data(), std::min(to.size(), from.size()));
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

absl::Status ForgetCached(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return Failed("open", path);
  // posix_fadvise returns its error and leaves errno unchanged.
  errno = posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  if (errno != 0) return Failed("forget", path);
  return absl::OkStatus();
}

absl::Status SettleDisk(const std::string& directory) {
  const Descriptor fd(open(directory.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return Failed("open", directory);
  if (syncfs(fd.get()) != 0) return Failed("sync", directory);
  return absl::OkStatus();
}

std::string FileSystemName(const std::string& directory) {
  struct statfs info = {};
  if (statfs(directory.c_str(), &info) != 0) return "unknown";
  switch (static_cast<uint32_t>(info.f_type)) {
    case 0xEF53:
      return "ext4";
    case 0x58465342:
      return "xfs";
    case 0x9123683E:
      return "btrfs";
    case 0x01021994:
      return "tmpfs";
    case 0x794C7630:
      return "overlayfs";
    case 0x6969:
      return "nfs";
  }
  return absl::StrCat("0x", absl::Hex(info.f_type));
}

}  // namespace capstan::bench
