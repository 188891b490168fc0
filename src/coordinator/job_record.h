// What a coordinator leaves on the servers, with the watermark, for one that
// takes over: the progress of the parts of the program, and the steps that they
// have numbered in advance.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/closure/key_ledger.h"
#include "coordinator/closure/step_ledger.h"
#include "wire/parameter.h"

namespace capstan {

// A value.
struct JobRecord {
  // Counts changes: tells which of two records is newer.
  uint64_t sequence = 0;
  // UTF-8 text, by the name of the part.
  std::map<std::string, std::string> parts;
  // The steps that a part has numbered, by the name of the part.
  std::map<std::string, StepBlock> blocks;
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

std::string EncodeJobRecord(const JobRecord& record);
// DataLoss if `text` is malformed.
absl::StatusOr<JobRecord> DecodeJobRecord(std::string_view text);

// Whether `text` may be a part or the name of one.
bool IsUtf8(const std::string& text);

// The text of a part. `spare`, if set, is a shorter version without what can be
// omitted; it is stored where there is no room for everything.
struct PartText {
  PartText(std::string text_in) : text(std::move(text_in)) {}  // NOLINT
  PartText(const char* text_in) : text(text_in) {}             // NOLINT
  PartText(std::string text_in, std::string spare_in)
      : text(std::move(text_in)), spare(std::move(spare_in)) {}

  std::string text;
  std::optional<std::string> spare;
};

// Keeps the record and the watermark consistent. A part with a block accounts
// for its steps in order. For a coordinator that takes over, a step counts as
// ended only once the record says so: otherwise it would neither be run again
// nor be counted.
//
// Thread-safe.
class RecordKeeper {
 public:
  // Continues with the record and watermark of another coordinator.
  void Load(JobRecord record, uint64_t watermark);

  std::optional<std::string> Find(const std::string& key) const;
  std::optional<StepBlock> FindBlock(const std::string& key) const;
  std::map<std::string, std::string> parts() const;
  // A part that has a block, other than the blocks of keys; empty if there is
  // none.
  std::string FindOpenPart() const;

  // ResourceExhausted if these parts and the others, all reduced to their
  // spares, take more than `limit`. Call it before setting a part: a record
  // that does not fit could never be sent, and neither could the watermark.
  absl::Status CheckRoom(const std::map<std::string, PartText>& parts,
                         uint64_t limit = kMaxRecordBytes) const;
  void Set(const std::string& key, PartText value);
  // Sets all of them atomically: a coordinator that takes over finds all or
  // none.
  void SetAll(const std::map<std::string, PartText>& parts);
  void Erase(const std::string& key);
  // Begins a block, none of whose steps has begun. The servers must have the
  // block before one does.
  void OpenBlock(const std::string& key, const StepBlock& block,
                 PartText value);
  // `value` contains the outcome of all steps of the block up to `step`.
  void Account(const std::string& key, PartText value, uint64_t step);
  // `value` contains the outcome of all steps that were begun; ends the block.
  void CloseBlock(const std::string& key, PartText value);
  // The steps that have keys: which keys are complete, and the blocks that have
  // not ended. Replaces the earlier ones. Does not wait for other steps; the
  // next notice contains it. The servers must have a block before one of its
  // steps begins.
  void SetKeys(const CompleteKeys& keys,
               const std::map<std::string, KeyLedger::OpenBlock>& blocks);

  // What to send to the servers when all steps up to `watermark` have ended.
  struct Notice {
    uint64_t watermark = 0;
    uint64_t sequence = 0;
    // Empty: unchanged. If necessary, parts that were not set for a long time
    // are reduced to their spares.
    std::string record;
  };
  Notice Next(uint64_t watermark) const;
  // The servers have it.
  void Told(const Notice& notice);
  // The servers have forgotten the record, and it is no longer true: none of
  // the parts' work is left.
  void Clear();

 private:
  struct Spare {
    std::string text;
    uint64_t since = 0;  // the sequence at which its part was set
  };
  struct Version {
    JobRecord record;
    std::map<std::string, Spare> spares = {};  // by the key of the part
    uint64_t step = 0;  // contains the outcome of the steps up to this
    // Limits of the watermark, by block: no step of the block after the limit
    // is accounted for.
    std::map<std::string, uint64_t> limits;

    uint64_t limit() const;
    void Put(const std::string& key, PartText value);
    // With as many parts reduced to their spares as it takes to fit.
    std::string Encode() const;
  };
  // With the lock held.
  Version& Change();

  mutable std::mutex mutex_;
  // All guarded by mutex_. Never empty. The first is the version that the
  // servers have, or the one that they get next.
  std::deque<Version> versions_ = {Version()};
  uint64_t told_ = 0;  // the sequence of the record that the servers have
};

}  // namespace capstan
