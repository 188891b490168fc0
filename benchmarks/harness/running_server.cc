#include "harness/running_server.h"

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan {

absl::StatusOr<RunningServer> StartServer(
    const std::vector<std::string>& arguments) {
  absl::StatusOr<ChildProcess> process = ChildProcess::Start(arguments);
  if (!process.ok()) return process.status();
  absl::StatusOr<std::string> address = process->WaitReady();
  if (!address.ok()) return address.status();
  return RunningServer{*std::move(process), *std::move(address)};
}

absl::StatusOr<ScratchDirectory> ScratchDirectory::Create() {
  std::string path = "/tmp/capstan-bench.XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("mkdtemp ", path));
  }
  return ScratchDirectory(std::move(path));
}

ScratchDirectory::ScratchDirectory(std::string path) : path_(std::move(path)) {}

ScratchDirectory::ScratchDirectory(ScratchDirectory&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

ScratchDirectory::~ScratchDirectory() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchDirectory::AddressFor(const std::string& transport,
                                         const std::string& name) const {
  if (transport != "unix") return "127.0.0.1:0";
  return absl::StrCat("unix:", path_, "/", name);
}

}  // namespace capstan
