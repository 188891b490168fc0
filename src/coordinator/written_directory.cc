#include "coordinator/written_directory.h"

#include <algorithm>
#include <utility>

namespace capstan {

WrittenDirectory::Member WrittenDirectory::Join(const Retention& retention) {
  const std::lock_guard lock(mutex_);
  retentions_[++last_] = retention;
  return last_;
}

void WrittenDirectory::Leave(Member member) {
  const std::lock_guard lock(mutex_);
  retentions_.erase(member);
}

void WrittenDirectory::Keep(Member member, std::string name) {
  const std::lock_guard lock(mutex_);
  kept_[member] = std::move(name);
}

std::set<std::string> WrittenDirectory::KeptByOthers(Member member) const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> names;
  for (const auto& [other, name] : kept_) {
    if (other != member) names.insert(name);
  }
  return names;
}

std::vector<std::string> WrittenDirectory::SuperfluousOf(
    const std::vector<Checkpoint>& checkpoints) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> kept;
  for (const auto& [member, name] : kept_) kept.push_back(name);
  std::vector<std::string> left;
  bool first = true;
  for (const auto& [member, retention] : retentions_) {
    const std::vector<std::string> old = ToRemove(checkpoints, retention, kept);
    if (std::exchange(first, false)) {
      left = old;
      continue;
    }
    std::erase_if(left, [&](const std::string& name) {
      return std::find(old.begin(), old.end(), name) == old.end();
    });
  }
  return left;
}

std::unique_ptr<WrittenDirectory::Turn> WrittenDirectory::AwaitTurn(
    Duration timeout) {
  std::unique_lock lock(mutex_);
  if (!given_back_.wait_for(lock, timeout, [this] { return !taken_; })) {
    return nullptr;
  }
  taken_ = true;
  return std::make_unique<Turn>(shared_from_this());
}

WrittenDirectory::Turn::~Turn() {
  const std::lock_guard lock(of_->mutex_);
  of_->taken_ = false;
  of_->given_back_.notify_one();
}

absl::StatusOr<std::shared_ptr<WrittenDirectory>> WrittenDirectories::Open(
    const std::string& path, const std::function<absl::Status()>& prepare) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [](const auto& one) { return one.second.expired(); });
  if (const auto found = open_.find(path); found != open_.end()) {
    // It may have ended since.
    if (auto directory = found->second.lock()) return directory;
  }
  const absl::Status prepared = prepare();
  if (!prepared.ok()) return prepared;
  auto directory = std::make_shared<WrittenDirectory>();
  open_[path] = directory;
  return directory;
}

}  // namespace capstan
