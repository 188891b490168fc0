#include "launch/local/socket_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/address.h"

namespace capstan {
namespace {

constexpr char kShared[] = "/tmp";
constexpr char kFolder[] = "/capstan-XXXXXX";
constexpr char kLongestName[] = "/joined-4194304";  // the largest pid

bool HasRoom(const std::string& parent) {
  return !parent.empty() &&
         ValidateAddress(absl::StrCat("unix:", parent, kFolder, kLongestName))
             .ok();
}

}  // namespace

SocketFolder::SocketFolder(std::string path) : path_(std::move(path)) {}

SocketFolder::SocketFolder(SocketFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

absl::StatusOr<SocketFolder> SocketFolder::Create(const std::string& parent) {
  for (const std::string& place : {parent, std::string(kShared)}) {
    if (!HasRoom(place)) continue;
    // Of mode 0700, and ours alone from the start.
    std::string path = absl::StrCat(place, kFolder);
    if (::mkdtemp(path.data()) != nullptr) return SocketFolder(std::move(path));
  }
  return absl::UnavailableError(absl::StrCat(
      "cannot make a folder for the job's sockets in ", kShared, ": ",
      std::strerror(errno), "; `capstan run --tcp` does not need one"));
}

SocketFolder::~SocketFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string SocketFolder::AddressOf(TaskId task) const {
  return absl::StrCat("unix:", path_, "/", std::string(RoleName(task.role)),
                      "-", task.index);
}

std::string AddressBeside(const std::string& chief, int pid) {
  return absl::StrCat(chief.substr(0, chief.rfind('/')), "/joined-", pid);
}

}  // namespace capstan
