#include "coordinator/job_record.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

// Versions between the first and the last that wait for their steps to end.
constexpr size_t kMostVersions = 16;

// Reserved for everything except parts: the sequence, and the blocks of parts
// and of keys.
constexpr size_t kRoomForBlocks = 16 << 10;

// As JSON, with quotes.
size_t EncodedSize(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace).size();
}

}  // namespace

std::string EncodeJobRecord(const JobRecord& record) {
  Json blocks = Json::object();
  for (const auto& [key, block] : record.blocks) {
    blocks[key] = {block.first, block.count, block.first_round};
  }
  const Json json = {{"sequence", record.sequence},
                     {"parts", record.parts},
                     {"blocks", std::move(blocks)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<JobRecord> DecodeJobRecord(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    JobRecord record;
    record.sequence = json.at("sequence").get<uint64_t>();
    record.parts = json.at("parts").get<std::map<std::string, std::string>>();
    for (const auto& [key, block] : json.at("blocks").items()) {
      StepBlock& read = record.blocks[key];
      read.first = block.at(0).get<uint64_t>();
      read.count = block.at(1).get<uint64_t>();
      read.first_round = block.at(2).get<uint64_t>();
      if (read.first == 0 || read.count == 0 ||
          read.count > (uint64_t{1} << 32) ||
          read.first > UINT64_MAX - read.count) {
        return absl::DataLossError(
            absl::StrCat("the job's record has a block of ", read.count,
                         " steps from ", read.first, " on"));
      }
    }
    return record;
  } catch (const Json::exception& error) {
    return absl::DataLossError(
        absl::StrCat("the job's record cannot be read: ", error.what()));
  }
}

bool IsUtf8(const std::string& text) {
  try {
    Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

void RecordKeeper::Load(JobRecord record, uint64_t watermark) {
  const std::lock_guard lock(mutex_);
  Version version;
  // Other servers may have an older record.
  told_ = 0;
  version.step = watermark;
  for (const auto& [key, block] : record.blocks) {
    version.limits[key] = watermark;
  }
  version.record = std::move(record);
  versions_.clear();
  versions_.push_back(std::move(version));
}

std::optional<std::string> RecordKeeper::Find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const JobRecord& now = versions_.back().record;
  const auto found = now.parts.find(key);
  if (found == now.parts.end()) return std::nullopt;
  return found->second;
}

std::optional<StepBlock> RecordKeeper::FindBlock(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const JobRecord& now = versions_.back().record;
  const auto found = now.blocks.find(key);
  if (found == now.blocks.end()) return std::nullopt;
  return found->second;
}

std::map<std::string, std::string> RecordKeeper::parts() const {
  const std::lock_guard lock(mutex_);
  return versions_.back().record.parts;
}

std::string RecordKeeper::FindOpenPart() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, block] : versions_.back().record.blocks) {
    if (!absl::StartsWith(key, kStepKeysPart)) return key;
  }
  return "";
}

uint64_t RecordKeeper::Version::limit() const {
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (const auto& [key, limit] : limits) least = std::min(least, limit);
  return least;
}

RecordKeeper::Version& RecordKeeper::Change() {
  // Keeps the last version, and one that can be sent soon.
  if (versions_.size() > kMostVersions) {
    versions_.erase(versions_.end() - 2);
  }
  versions_.push_back(versions_.back());
  Version& now = versions_.back();
  ++now.record.sequence;
  return now;
}

void RecordKeeper::Version::Put(const std::string& key, PartText value) {
  record.parts[key] = std::move(value.text);
  spares.erase(key);
  if (!value.spare) return;
  spares[key] = {.text = *std::move(value.spare), .since = record.sequence};
}

std::string RecordKeeper::Version::Encode() const {
  std::string text = EncodeJobRecord(record);
  if (text.size() <= kMaxRecordBytes) return text;
  // Parts that have not been set for the longest time come first: most likely
  // they have ended.
  std::vector<std::pair<uint64_t, std::string>> oldest;
  for (const auto& [key, spare] : spares) oldest.emplace_back(spare.since, key);
  std::sort(oldest.begin(), oldest.end());
  JobRecord cut = record;
  size_t size = text.size();
  for (const auto& [since, key] : oldest) {
    std::string& part = cut.parts[key];
    const std::string& spare = spares.at(key).text;
    size = size - EncodedSize(part) + EncodedSize(spare);
    part = spare;
    if (size <= kMaxRecordBytes) break;
  }
  return EncodeJobRecord(cut);
}

absl::Status RecordKeeper::CheckRoom(
    const std::map<std::string, PartText>& parts, uint64_t limit) const {
  const std::lock_guard lock(mutex_);
  const Version& now = versions_.back();
  const auto size_of = [](const std::string& key, const std::string& text) {
    return EncodedSize(key) + EncodedSize(text) + 2;
  };
  size_t added = 0;
  for (const auto& [key, part] : parts) {
    added += size_of(key, part.spare ? *part.spare : part.text);
  }
  size_t others = kRoomForBlocks;
  for (const auto& [key, text] : now.record.parts) {
    if (parts.contains(key)) continue;
    const auto spare = now.spares.find(key);
    others +=
        size_of(key, spare == now.spares.end() ? text : spare->second.text);
  }
  if (others + added <= limit) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(added, " bytes do not fit beside ", others, " of ",
                   now.record.parts.size(),
                   " other records: there is room for ", limit, " in all"));
}

void RecordKeeper::Set(const std::string& key, PartText value) {
  const std::lock_guard lock(mutex_);
  Change().Put(key, std::move(value));
}

void RecordKeeper::SetAll(const std::map<std::string, PartText>& parts) {
  const std::lock_guard lock(mutex_);
  Version& now = Change();
  for (const auto& [key, value] : parts) now.Put(key, value);
}

void RecordKeeper::Erase(const std::string& key) {
  const std::lock_guard lock(mutex_);
  Version& now = Change();
  now.record.parts.erase(key);
  now.spares.erase(key);
}

void RecordKeeper::OpenBlock(const std::string& key, const StepBlock& block,
                             PartText value) {
  const std::lock_guard lock(mutex_);
  Version& now = Change();
  now.Put(key, std::move(value));
  now.record.blocks[key] = block;
  // No record without the block may be sent with a watermark that includes one
  // of its steps.
  for (Version& version : versions_) {
    const auto [limit, added] = version.limits.emplace(key, block.first - 1);
    limit->second = std::min(limit->second, block.first - 1);
  }
}

void RecordKeeper::SetKeys(
    const CompleteKeys& keys,
    const std::map<std::string, KeyLedger::OpenBlock>& blocks) {
  const std::lock_guard lock(mutex_);
  const std::string text = EncodeCompleteKeys(keys);
  const std::string prefix = absl::StrCat(kStepKeysPart, "/");
  const auto is_key = [&](const auto& item) {
    return absl::StartsWith(item.first, prefix);
  };
  // All versions get the keys, so that whichever is sent next has them.
  uint64_t sequence = versions_.back().record.sequence;
  for (Version& version : versions_) {
    version.record.sequence = ++sequence;
    version.record.parts[kStepKeysPart] = text;
    std::erase_if(version.record.blocks, is_key);
    std::erase_if(version.limits, is_key);
    for (const auto& [name, open] : blocks) {
      version.record.blocks[name] = open.block;
      version.limits[name] = open.over;
    }
  }
}

void RecordKeeper::Account(const std::string& key, PartText value,
                           uint64_t step) {
  const std::lock_guard lock(mutex_);
  Version& now = Change();
  now.Put(key, std::move(value));
  now.step = std::max(now.step, step);
  now.limits[key] = step;
}

void RecordKeeper::CloseBlock(const std::string& key, PartText value) {
  const std::lock_guard lock(mutex_);
  Version& now = Change();
  now.Put(key, std::move(value));
  const auto block = now.record.blocks.find(key);
  if (block == now.record.blocks.end()) return;
  now.step = std::max(now.step, block->second.end() - 1);
  now.limits.erase(key);
  now.record.blocks.erase(block);
}

RecordKeeper::Notice RecordKeeper::Next(uint64_t watermark) const {
  const std::lock_guard lock(mutex_);
  const Version* best = &versions_.front();
  for (const Version& version : versions_) {
    if (version.step <= watermark) best = &version;
  }
  Notice notice;
  notice.watermark = std::min(watermark, best->limit());
  notice.sequence = best->record.sequence;
  if (notice.sequence != told_) notice.record = best->Encode();
  return notice;
}

void RecordKeeper::Told(const Notice& notice) {
  const std::lock_guard lock(mutex_);
  told_ = std::max(told_, notice.sequence);
  while (versions_.size() > 1 &&
         versions_.front().record.sequence < notice.sequence) {
    versions_.pop_front();
  }
}

void RecordKeeper::Clear() {
  const std::lock_guard lock(mutex_);
  Version none;
  none.record.sequence = versions_.back().record.sequence + 1;
  versions_ = {std::move(none)};
  told_ = 0;
}

}  // namespace capstan
