// All short histories of calls, and many long ones, against a model that lists
// every state in which a crash may leave the disk.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/file/file_system.h"
#include "base/random.h"
#include "simulation/sim_file_system.h"

namespace capstan {
namespace {

enum class Verb { kWrite, kAppend, kSync, kRemove, kRename, kSyncDir };

struct Call {
  Verb verb;
  std::string name;
  std::string other;
};

// The calls that make up a history: everything that can be done with two names.
const std::vector<Call>& AllCalls() {
  static const auto* const calls = new std::vector<Call>{
      {Verb::kWrite, "a", ""},   {Verb::kWrite, "b", ""},
      {Verb::kAppend, "a", ""},  {Verb::kAppend, "b", ""},
      {Verb::kSync, "a", ""},    {Verb::kSync, "b", ""},
      {Verb::kRemove, "a", ""},  {Verb::kRemove, "b", ""},
      {Verb::kRename, "a", "b"}, {Verb::kRename, "b", "a"},
      {Verb::kSyncDir, "", ""},
  };
  return *calls;
}

using State = std::map<std::string, std::string>;

// The model: a direct transcription of file_system.h.
class Model {
 public:
  // Executes the call; false if it must fail. `letter` is what is written.
  bool Do(const Call& call, char letter) {
    const auto found = names_.find(call.name);
    const bool there = found != names_.end();
    switch (call.verb) {
      case Verb::kWrite:
        if (!there) {
          files_.emplace_back();
          Change({{call.name, files_.size() - 1}});
        }
        FileOf(call.name).versions.push_back({"", 0});
        FileOf(call.name).Append(letter);
        return true;
      case Verb::kAppend:
        if (there) FileOf(call.name).Append(letter);
        return there;
      case Verb::kSync:
        if (there) FileOf(call.name).Sync();
        return there;
      case Verb::kRemove:
        if (there) Change({{call.name, std::nullopt}});
        return there;
      case Verb::kRename:
        if (there) {
          Change({{call.name, std::nullopt}, {call.other, found->second}});
        }
        return there;
      case Verb::kSyncDir:
        safe_names_ = names_;
        changes_.clear();
        return true;
    }
    return false;
  }

  State Now() const {
    State state;
    for (const auto& [name, file] : names_) {
      state[name] = files_[file].versions.back().content;
    }
    return state;
  }

  // Whether a crash may leave `state`: whether some choice of unsynced changes,
  // and of a version of each file, explains it.
  bool Allows(const State& state) const {
    for (uint32_t kept = 0; kept < (1u << changes_.size()); ++kept) {
      if (KeepsOrder(kept) && Explains(kept, state)) return true;
    }
    return false;
  }

 private:
  struct Version {
    std::string content;
    // This many bytes at the front are synced.
    size_t safe;
  };
  // A file is any version it has had since its last sync, or such a version
  // with zeros in place of everything that is not safe.
  struct File {
    std::vector<Version> versions = {{"", 0}};

    void Append(char letter) {
      versions.push_back(
          {versions.back().content + letter, versions.back().safe});
    }
    void Sync() {
      const std::string content = versions.back().content;
      versions = {{content, content.size()}};
    }
    bool MayBe(const std::string& content) const {
      for (const Version& version : versions) {
        if (content == version.content) return true;
        std::string zeroed = version.content;
        std::fill(zeroed.begin() + static_cast<ptrdiff_t>(version.safe),
                  zeroed.end(), '\0');
        if (content == zeroed) return true;
      }
      return false;
    }
  };
  using Names = std::map<std::string, size_t>;
  using NameChange = std::map<std::string, std::optional<size_t>>;

  File& FileOf(const std::string& name) { return files_[names_.at(name)]; }

  static void Apply(const NameChange& change, Names& names) {
    for (const auto& [name, file] : change) {
      if (file.has_value()) {
        names[name] = *file;
      } else {
        names.erase(name);
      }
    }
  }

  void Change(NameChange change) {
    Apply(change, names_);
    changes_.push_back(std::move(change));
  }

  // No change is kept if an earlier one that shares a name with it is lost.
  bool KeepsOrder(uint32_t kept) const {
    for (size_t later = 0; later < changes_.size(); ++later) {
      for (size_t earlier = 0; earlier < later; ++earlier) {
        const bool common =
            std::any_of(changes_[earlier].begin(), changes_[earlier].end(),
                        [&](const auto& part) {
                          return changes_[later].contains(part.first);
                        });
        if (common && (kept >> later & 1u) != 0 &&
            (kept >> earlier & 1u) == 0) {
          return false;
        }
      }
    }
    return true;
  }

  bool Explains(uint32_t kept, const State& state) const {
    Names names = safe_names_;
    for (size_t i = 0; i < changes_.size(); ++i) {
      if ((kept >> i & 1u) != 0) Apply(changes_[i], names);
    }
    return std::equal(names.begin(), names.end(), state.begin(), state.end(),
                      [&](const auto& expected, const auto& found) {
                        return expected.first == found.first &&
                               files_[expected.second].MayBe(found.second);
                      });
  }

  std::vector<File> files_;
  Names names_;
  Names safe_names_;
  std::vector<NameChange> changes_;
};

bool DoOnDisk(FileSystem& files, const Call& call, char letter) {
  const Bytes data = AsBytes(std::string_view(&letter, 1));
  switch (call.verb) {
    case Verb::kWrite: {
      auto file = files.CreateForWrite(call.name, IfExists::kTruncate);
      return file.ok() && (*file)->Append(data).ok();
    }
    case Verb::kAppend: {
      auto file = files.OpenForAppend(call.name);
      return file.ok() && (*file)->Append(data).ok();
    }
    case Verb::kSync: {
      auto file = files.OpenForAppend(call.name);
      return file.ok() && (*file)->Sync().ok();
    }
    case Verb::kRemove:
      return files.Remove(call.name).ok();
    case Verb::kRename:
      return files.Rename(call.name, call.other).ok();
    case Verb::kSyncDir:
      return files.SyncDir("").ok();
  }
  return false;
}

State StateOf(const FileSystem& files) {
  State state;
  const std::vector<std::string> names = files.List("").value();
  for (const std::string& name : names) {
    state[name] = ReadFile(files, name, 1000).value();
  }
  return state;
}

std::string TextOf(const std::vector<Call>& history, const State& state) {
  constexpr const char* kVerbs[] = {"write",  "append", "sync",
                                    "remove", "rename", "syncdir"};
  std::string text;
  for (const Call& call : history) {
    text += std::string(kVerbs[static_cast<size_t>(call.verb)]) + " " +
            call.name + " " + call.other + "; ";
  }
  text += "left:";
  for (const auto& [name, content] : state) {
    text += " " + name + "=\"" + ::testing::PrintToString(content) + "\"";
  }
  return text;
}

// Runs a history, crashes, and compares with the model.
void Check(const std::vector<Call>& history, uint64_t seed) {
  SimFileSystem files;
  Model model;
  char letter = 'A';
  for (const Call& call : history) {
    ASSERT_EQ(DoOnDisk(files, call, letter), model.Do(call, letter))
        << TextOf(history, {});
    ++letter;
  }
  ASSERT_EQ(StateOf(files), model.Now()) << TextOf(history, {});
  Random random(seed);
  files.Crash(random);
  const State left = StateOf(files);
  ASSERT_TRUE(model.Allows(left)) << TextOf(history, left);
}

TEST(SimFileSystemModelTest, AllHistoriesOfFourCalls) {
  constexpr size_t kLength = 4;
  const std::vector<Call>& calls = AllCalls();
  std::vector<size_t> digits(kLength, 0);
  uint64_t seed = 0;
  while (true) {
    std::vector<Call> history;
    for (size_t digit : digits) history.push_back(calls[digit]);
    for (int i = 0; i < 6; ++i) Check(history, ++seed);
    if (HasFatalFailure()) return;
    size_t place = 0;
    while (place < kLength && ++digits[place] == calls.size()) {
      digits[place++] = 0;
    }
    if (place == kLength) break;
  }
  EXPECT_EQ(seed, 11u * 11 * 11 * 11 * 6);
}

TEST(SimFileSystemModelTest, LongHistories) {
  Random random(7);
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    std::vector<Call> history;
    for (int i = 0; i < 14; ++i) {
      history.push_back(AllCalls()[random.Below(AllCalls().size())]);
    }
    Check(history, seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace capstan
