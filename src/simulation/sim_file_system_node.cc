#include "simulation/sim_file_system_node.h"

#include <algorithm>
#include <set>

namespace capstan {
namespace {

// Disks write sectors of this size completely or not at all.
constexpr size_t kSector = 512;

// The probability that a sector of a torn append was not written although a
// later one was, or the file's new size.
constexpr double kHole = 0.25;

}  // namespace

void SimFile::Truncate() {
  // After several unsynced truncations, what was safe before the first is safe.
  if (!before_truncation_)
    before_truncation_ = content_.substr(0, synced_size_);
  content_.clear();
  synced_size_ = 0;
}

void SimFile::Sync() {
  before_truncation_.reset();
  synced_size_ = content_.size();
}

void SimFile::Crash(const SimFileCrash& crash) {
  if (before_truncation_ && !crash.random.Chance(crash.keep)) {
    content_ = *std::move(before_truncation_);
  } else if (crash.keep <= 0) {
    content_.resize(synced_size_);
  } else if (crash.keep < 1) {
    const size_t unsynced = content_.size() - synced_size_;
    content_.resize(synced_size_ + crash.random.Below(unsynced + 1));
    for (size_t start = synced_size_; start < content_.size();) {
      const size_t end =
          std::min((start / kSector + 1) * kSector, content_.size());
      if (crash.random.Chance(kHole)) {
        std::fill(content_.begin() + static_cast<ptrdiff_t>(start),
                  content_.begin() + static_cast<ptrdiff_t>(end), '\0');
      }
      start = end;
    }
  }
  Sync();
}

SimNodePtr SimDirectory::Find(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second;
}

void SimDirectory::Set(std::string_view name, SimNodePtr node) {
  Make({{std::string(name), std::move(node)}});
}

void SimDirectory::Erase(std::string_view name) {
  Make({{std::string(name), nullptr}});
}

void SimDirectory::Rename(std::string_view from, std::string_view to) {
  Make({{std::string(from), nullptr}, {std::string(to), Find(from)}});
}

void SimDirectory::Sync() {
  synced_ = entries_;
  unsynced_.clear();
}

void SimDirectory::Crash(const SimFileCrash& crash) {
  Entries left = std::move(synced_);
  std::set<std::string, std::less<>> lost;
  for (const Change& change : unsynced_) {
    const bool blocked = std::any_of(
        change.begin(), change.end(),
        [&](const auto& part) { return lost.contains(part.first); });
    if (!blocked && crash.random.Chance(crash.keep)) {
      Apply(change, left);
    } else {
      for (const auto& part : change) lost.insert(part.first);
    }
  }
  entries_ = std::move(left);
  Sync();
}

void SimDirectory::Apply(const Change& change, Entries& entries) {
  for (const auto& [name, node] : change) {
    if (node == nullptr) {
      entries.erase(name);
    } else {
      entries[name] = node;
    }
  }
}

void SimDirectory::Make(Change change) {
  Apply(change, entries_);
  unsynced_.push_back(std::move(change));
}

}  // namespace capstan
