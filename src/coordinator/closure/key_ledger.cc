#include "coordinator/closure/key_ledger.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace capstan {
namespace {

constexpr char kRestoring[] = "restoring";
// Nobody counts this far, and sums with it do not overflow.
constexpr uint64_t kMostKey = uint64_t{1} << 62;

absl::Status NoKeys(std::string_view text) {
  return absl::DataLossError(
      absl::StrCat("the record of the steps' keys cannot be read: '",
                   std::string(text.substr(0, 100)), "'"));
}

std::string NameOf(uint64_t first_key) {
  return absl::StrCat(kStepKeysPart, "/", first_key);
}

}  // namespace

std::string EncodeCompleteKeys(const CompleteKeys& keys) {
  std::string text = absl::StrCat(keys.below);
  for (const auto& [first, last] : keys.above) {
    absl::StrAppend(&text, " ", first, "-", last);
  }
  if (keys.restoring) absl::StrAppend(&text, " ", kRestoring);
  return text;
}

absl::StatusOr<CompleteKeys> DecodeCompleteKeys(std::string_view text) {
  CompleteKeys keys;
  std::vector<std::string> words = absl::StrSplit(std::string(text), ' ');
  if (words.size() > 1 && words.back() == kRestoring) {
    keys.restoring = true;
    words.pop_back();
  }
  if (!absl::SimpleAtoi(words.front(), &keys.below) || keys.below > kMostKey) {
    return NoKeys(text);
  }
  uint64_t next = keys.below;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::vector<std::string> ends = absl::StrSplit(words[i], '-');
    std::pair<uint64_t, uint64_t> range;
    if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &range.first) ||
        !absl::SimpleAtoi(ends[1], &range.second) || range.first <= next ||
        range.second < range.first ||
        range.second - keys.below >= KeyLedger::kWindow) {
      return NoKeys(text);
    }
    next = range.second + 1;
    keys.above.push_back(range);
  }
  return keys;
}

const KeyLedger::Key* KeyLedger::Find(uint64_t key) const {
  if (key < below_ || key - below_ >= keys_.size()) return nullptr;
  return &keys_[key - below_];
}

KeyLedger::Key& KeyLedger::Make(uint64_t key) {
  if (key - below_ >= keys_.size()) keys_.resize(key - below_ + 1);
  return At(key);
}

KeyLedger::State KeyLedger::Look(uint64_t key) const {
  if (key < below_) return State::kComplete;
  if (key - below_ >= kWindow) return State::kTooFar;
  const Key* found = Find(key);
  if (found == nullptr) return State::kUnnumbered;
  if (found->complete) return State::kComplete;
  if (found->scheduled) return State::kScheduled;
  if (found->step == 0) return State::kUnnumbered;
  const auto chunk =
      std::find_if(chunks_.begin(), chunks_.end(),
                   [&](const Chunk& one) { return key < one.end_key(); });
  return chunk->version <= published_ ? State::kFree : State::kUnnumbered;
}

uint64_t KeyLedger::Missing(uint64_t key) const {
  return key < numbered_ ? 0 : std::max(kChunk, key + 1 - numbered_);
}

std::vector<uint64_t> KeyLedger::Number(const StepBlock& block) {
  Chunk& chunk = chunks_.emplace_back();
  chunk.first_key = numbered_;
  chunk.block = block;
  chunk.version = ++version_;
  numbered_ += block.count;
  std::vector<uint64_t> over;
  for (uint64_t i = 0; i < block.count; ++i) {
    Key& key = Make(chunk.first_key + i);
    key.step = block.first + i;
    if (key.complete) over.push_back(key.step);
  }
  return over;
}

void KeyLedger::Published(uint64_t version) {
  published_ = std::max(published_, version);
}

uint64_t KeyLedger::Schedule(uint64_t key) {
  At(key).scheduled = true;
  ++scheduled_;
  return At(key).step;
}

void KeyLedger::Begin(uint64_t key) { At(key).begun = true; }

bool KeyLedger::begun(uint64_t key) const { return Find(key)->begun; }

void KeyLedger::End(uint64_t key, bool complete) {
  At(key).scheduled = false;
  --scheduled_;
  if (!complete) return;
  At(key).complete = true;
  Advance();
}

uint64_t KeyLedger::Skip(uint64_t key) {
  Key& skipped = Make(key);
  const uint64_t step = skipped.step;
  skipped.complete = true;
  Advance();
  return step;
}

void KeyLedger::Advance() {
  ++version_;
  while (!keys_.empty() && keys_.front().complete) {
    keys_.pop_front();
    ++below_;
  }
  numbered_ = std::max(numbered_, below_);
  while (!chunks_.empty() && chunks_.front().end_key() <= below_) {
    chunks_.pop_front();
  }
}

uint64_t KeyLedger::FirstPartial() const {
  for (size_t i = 0; i < keys_.size(); ++i) {
    const Key& key = keys_[i];
    if (key.begun && !key.complete && !key.scheduled) return below_ + i;
  }
  return kNone;
}

std::vector<uint64_t> KeyLedger::GiveUpNumbers() {
  std::vector<uint64_t> over;
  if (scheduled_ > 0 || chunks_.empty()) return over;
  Chunk& chunk = chunks_.back();
  while (chunk.block.count > 0) {
    const uint64_t key = chunk.end_key() - 1;
    // Keys below below_ are complete; above a restored key there may be none.
    if (key < below_ || At(key).complete || At(key).begun) break;
    over.push_back(At(key).step);
    At(key).step = 0;
    --chunk.block.count;
    --numbered_;
  }
  if (over.empty()) return over;
  ++version_;
  if (chunk.block.count == 0 || chunk.end_key() <= below_) chunks_.pop_back();
  while (!keys_.empty() && keys_.back().step == 0 && !keys_.back().complete) {
    keys_.pop_back();
  }
  return over;
}

CompleteKeys KeyLedger::complete() const {
  CompleteKeys keys;
  keys.below = below_;
  keys.restoring = restoring_;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (!keys_[i].complete) continue;
    const uint64_t key = below_ + i;
    if (keys.above.empty() || keys.above.back().second + 1 != key) {
      keys.above.emplace_back(key, key);
    }
    keys.above.back().second = key;
  }
  return keys;
}

std::map<std::string, KeyLedger::OpenBlock> KeyLedger::open_blocks() const {
  std::map<std::string, OpenBlock> blocks;
  for (const Chunk& chunk : chunks_) {
    uint64_t key = std::max(chunk.first_key, below_);
    while (key < chunk.end_key() && Find(key)->complete) ++key;
    if (key == chunk.end_key()) continue;
    blocks[NameOf(chunk.first_key)] = {
        .block = chunk.block,
        .over = chunk.block.first + (key - chunk.first_key) - 1};
  }
  return blocks;
}

void KeyLedger::SetComplete(const CompleteKeys& keys) {
  below_ = keys.below;
  numbered_ = keys.below;
  restoring_ = keys.restoring;
  keys_.clear();
  chunks_.clear();
  for (const auto& [first, last] : keys.above) {
    for (uint64_t key = first; key <= last; ++key) Make(key).complete = true;
  }
  published_ = ++version_;
}

absl::StatusOr<std::vector<uint64_t>> KeyLedger::Load(
    const CompleteKeys& keys, const std::map<std::string, StepBlock>& blocks,
    uint64_t last) {
  SetComplete(keys);
  const std::string prefix = absl::StrCat(kStepKeysPart, "/");
  for (const auto& [name, block] : blocks) {
    std::string_view number = name;
    if (number.substr(0, prefix.size()) != prefix) continue;
    number.remove_prefix(prefix.size());
    Chunk chunk;
    chunk.block = block;
    if (!absl::SimpleAtoi(std::string(number), &chunk.first_key) ||
        chunk.first_key > UINT64_MAX - block.count) {
      return NoKeys(name);
    }
    chunks_.push_back(chunk);
  }
  std::sort(chunks_.begin(), chunks_.end(), [](const Chunk& a, const Chunk& b) {
    return a.first_key < b.first_key;
  });
  std::vector<uint64_t> over;
  for (const Chunk& chunk : chunks_) {
    if (chunk.end_key() <= below_ || chunk.end_key() - below_ > 2 * kWindow) {
      return NoKeys(NameOf(chunk.first_key));
    }
    for (uint64_t i = 0; i < chunk.block.count; ++i) {
      const uint64_t step = chunk.block.first + i;
      if (chunk.first_key + i < below_) {
        over.push_back(step);
        continue;
      }
      Key& key = Make(chunk.first_key + i);
      key.step = step;
      key.begun = step <= last && !key.complete;
      if (key.complete) over.push_back(step);
    }
    numbered_ = std::max(numbered_, chunk.end_key());
  }
  return over;
}

std::vector<uint64_t> KeyLedger::Reset(const CompleteKeys& keys) {
  std::vector<uint64_t> over;
  for (const Key& key : keys_) {
    if (key.step != 0 && !key.complete) over.push_back(key.step);
  }
  SetComplete(keys);
  return over;
}

}  // namespace capstan
