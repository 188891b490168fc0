// The files and directories of a SimFileSystem: what a running program sees of
// each, and what a crash leaves of it. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"

namespace capstan {

// How a crash decides which unsynced changes survive.
struct SimFileCrash {
  // The probability that each unsynced change survives: 0 (nothing does), 1
  // (everything does, whole) or in between (appended bytes may be torn).
  double keep;
  Random& random;
};

// The content of a file.
class SimFile {
 public:
  const std::string& content() const { return content_; }
  void Append(std::string_view data) { content_.append(data); }
  void Truncate();
  void Sync();

  // Replaces the content with what a crash leaves: the synced content or, if
  // `crash` so decides, more. A prefix of the appended bytes is left, in which
  // a disk sector may be zeros. Everything left counts as synced.
  void Crash(const SimFileCrash& crash);

 private:
  std::string content_;
  // This many bytes at the front of content_ are safe, unless there is an
  // unsynced truncation: then the content before it is what is safe.
  size_t synced_size_ = 0;
  std::optional<std::string> before_truncation_;
};

struct SimFileNode;
using SimNodePtr = std::shared_ptr<SimFileNode>;

// The names in a directory.
class SimDirectory {
 public:
  const std::map<std::string, SimNodePtr, std::less<>>& entries() const {
    return entries_;
  }
  // The node with that name, or nullptr.
  SimNodePtr Find(std::string_view name) const;

  // Changes of names. The caller checks preconditions (the name exists, ...).
  void Set(std::string_view name, SimNodePtr node);
  void Erase(std::string_view name);
  void Rename(std::string_view from, std::string_view to);
  void Sync();

  // Replaces the entries with what a crash leaves: the synced ones plus the
  // unsynced changes that `crash` lets survive. A change is lost if an earlier
  // one of the same name was. Everything left counts as synced. Does not
  // descend into the entries.
  void Crash(const SimFileCrash& crash);

 private:
  // Names that change in one atomic step; nullptr removes a name.
  using Change = std::vector<std::pair<std::string, SimNodePtr>>;
  using Entries = std::map<std::string, SimNodePtr, std::less<>>;

  static void Apply(const Change& change, Entries& entries);
  void Make(Change change);

  Entries entries_;
  // The entries as of the last Sync, and what has changed since.
  Entries synced_;
  std::vector<Change> unsynced_;
};

// A file or a directory. Each has one name at a time, before and after a
// crash.
struct SimFileNode {
  bool is_directory = false;
  SimFile file;
  SimDirectory directory;
};

}  // namespace capstan
