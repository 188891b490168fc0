#include "transport/inproc/inproc_network.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/refusal.h"
#include "transport/inproc/inproc_acceptor.h"
#include "transport/inproc/inproc_connection.h"
#include "transport/inproc/inproc_stream.h"

namespace capstan {
namespace {

constexpr char kInprocScheme[] = "inproc:";

absl::Status CheckAddress(const std::string& address) {
  if (address.starts_with(kInprocScheme)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "'", address, "' is not an in-process address (inproc:NAME)"));
}

}  // namespace

// The listeners by address. Thread-safe.
class InprocNetwork::Names {
 public:
  // Starts listening at `address`, or at an address of its choice if `address`
  // has no name. Null if somebody already listens there.
  std::shared_ptr<InprocBacklog> Enter(const Executor& executor,
                                       std::string address) {
    std::lock_guard lock(mutex_);
    const bool any = address == kInprocScheme;
    do {
      if (any) address = absl::StrCat(kInprocScheme, ++chosen_);
    } while (any && FindLocked(address) != nullptr);
    if (FindLocked(address) != nullptr) return nullptr;
    auto backlog = std::make_shared<InprocBacklog>(executor, address);
    names_[std::move(address)] = backlog;
    return backlog;
  }

  // Removes `address` unless somebody listens there (again).
  void Remove(const std::string& address) {
    std::lock_guard lock(mutex_);
    if (FindLocked(address) == nullptr) names_.erase(address);
  }

  // The listener at `address`; null if there is none.
  std::shared_ptr<InprocBacklog> Find(const std::string& address) const {
    std::lock_guard lock(mutex_);
    return FindLocked(address);
  }

 private:
  std::shared_ptr<InprocBacklog> FindLocked(const std::string& address) const {
    const auto found = names_.find(address);
    if (found == names_.end()) return nullptr;
    std::shared_ptr<InprocBacklog> backlog = found->second.lock();
    return backlog == nullptr || backlog->closed() ? nullptr : backlog;
  }

  mutable std::mutex mutex_;
  // Guarded by mutex_. The acceptors own the backlogs.
  std::map<std::string, std::weak_ptr<InprocBacklog>, std::less<>> names_;
  uint64_t chosen_ = 0;
};

InprocNetwork::InprocNetwork() : names_(std::make_shared<Names>()) {}

InprocNetwork::~InprocNetwork() = default;

Task<absl::StatusOr<std::unique_ptr<Stream>>> InprocNetwork::Connect(
    Executor executor, std::string address, MonotonicTime) {
  const absl::Status valid = CheckAddress(address);
  if (!valid.ok()) co_return valid;
  const std::shared_ptr<InprocBacklog> backlog = names_->Find(address);
  if (backlog == nullptr) {
    co_return Refusal(absl::StrCat("nobody listens at ", address));
  }
  auto connection = std::make_shared<InprocConnection>();
  auto stream = std::make_unique<InprocStream>(
      executor, connection, InprocConnection::kClient, address);
  if (!backlog->Add(std::move(connection))) {
    co_return absl::UnavailableError(
        absl::StrCat(address, " accepts no more connections"));
  }
  co_return std::move(stream);
}

absl::StatusOr<std::unique_ptr<Acceptor>> InprocNetwork::Listen(
    const Executor& executor, const std::string& address) {
  const absl::Status valid = CheckAddress(address);
  if (!valid.ok()) return valid;
  std::shared_ptr<InprocBacklog> backlog = names_->Enter(executor, address);
  if (backlog == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("somebody listens at ", address, " already"));
  }
  const std::string bound = backlog->address();
  return std::make_unique<InprocAcceptor>(
      std::move(backlog), [names = names_, bound] { names->Remove(bound); });
}

}  // namespace capstan
