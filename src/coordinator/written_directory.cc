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

std::unique_ptr<WrittenDirectories::Turn> WrittenDirectories::AwaitTurn(
    const std::string& directory, Duration timeout) {
  Turns& turns = *turns_;
  std::unique_lock lock(turns.mutex);
  if (!turns.given_back.wait_for(lock, timeout, [&] { return !turns.taken; })) {
    return nullptr;
  }
  turns.taken = true;
  turns.directory = directory;
  return std::make_unique<Turn>(turns_);
}

std::string WrittenDirectories::writes_to() const {
  const std::lock_guard lock(turns_->mutex);
  return turns_->directory;
}

WrittenDirectories::Turn::~Turn() {
  const std::lock_guard lock(of_->mutex);
  of_->taken = false;
  of_->directory.clear();
  of_->given_back.notify_one();
}

absl::StatusOr<std::shared_ptr<WrittenDirectory>> WrittenDirectories::Open(
    const std::string& path, const std::function<absl::Status()>& prepare) {
  const std::lock_guard lock(mutex_);
  std::erase_if(open_, [](const auto& one) { return one.second.expired(); });
  if (const auto found = open_.find(path); found != open_.end()) {
    // It may have expired since.
    if (auto directory = found->second.lock()) return directory;
  }
  const absl::Status prepared = prepare();
  if (!prepared.ok()) return prepared;
  auto directory = std::make_shared<WrittenDirectory>();
  open_[path] = directory;
  return directory;
}

}  // namespace capstan
