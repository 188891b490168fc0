// What a coordinator leaves with the servers, beside the watermark, for one
// that takes over: how far the parts of the program are, and which steps they
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
  // Counts the changes: of two records, which is the newer.
  uint64_t sequence = 0;
  // Text in UTF-8, by whose it is.
  std::map<std::string, std::string> parts;
  // The steps that a part has numbered, by the same.
  std::map<std::string, StepBlock> blocks;
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

std::string EncodeJobRecord(const JobRecord& record);
// DataLoss if it is none.
absl::StatusOr<JobRecord> DecodeJobRecord(std::string_view text);

// Whether a text may be a part of it, or its key.
bool IsUtf8(const std::string& text);

// What a part is to keep. `spare` says the same without what can be missed, if
// there is something: it is kept instead where there is no room for all.
struct PartText {
  PartText(std::string text_in) : text(std::move(text_in)) {}  // NOLINT
  PartText(const char* text_in) : text(text_in) {}             // NOLINT
  PartText(std::string text_in, std::string spare_in)
      : text(std::move(text_in)), spare(std::move(spare_in)) {}

  std::string text;
  std::optional<std::string> spare;
};

// Keeps the record and the watermark together. A part that has a block says
// what became of its steps, one after the other; a step counts as over for a
// coordinator to come only once the record says so: else it would neither be
// run again nor be counted.
//
// Thread-safe.
class RecordKeeper {
 public:
  // Goes on with what another coordinator has left, with this watermark.
  void Load(JobRecord record, uint64_t watermark);

  std::optional<std::string> Find(const std::string& key) const;
  std::optional<StepBlock> FindBlock(const std::string& key) const;
  std::map<std::string, std::string> parts() const;
  // A part that has a block, other than those of keys; empty if none has.
  std::string FindOpenPart() const;

  // ResourceExhausted if these parts and the others, all cut to their spares,
  // take up more than `limit`. To be asked before one is set: what does not fit
  // could never be told, and neither could the watermark.
  absl::Status CheckRoom(const std::map<std::string, PartText>& parts,
                         uint64_t limit = kMaxRecordBytes) const;
  void Set(const std::string& key, PartText value);
  // All of them at once: no coordinator to come finds some without the others.
  void SetAll(const std::map<std::string, PartText>& parts);
  void Erase(const std::string& key);
  // Begins a block, of which no step has begun. The servers must have it before
  // one does.
  void OpenBlock(const std::string& key, const StepBlock& block,
                 PartText value);
  // `value` has all that came of the block's steps up to `step`.
  void Account(const std::string& key, PartText value, uint64_t step);
  // The same of all that were begun; the block is over.
  void CloseBlock(const std::string& key, PartText value);
  // The steps that have keys: which are complete, and the blocks that are not
  // over, in place of those of before. That does not wait for other steps, but
  // is told next. The servers must have a block before a step of it begins.
  void SetKeys(const CompleteKeys& keys,
               const std::map<std::string, KeyLedger::OpenBlock>& blocks);

  // What to tell the servers when all steps up to `watermark` are over.
  struct Notice {
    uint64_t watermark = 0;
    uint64_t sequence = 0;
    // Empty: as it was. Parts that were not set for long are cut to their
    // spares if need be.
    std::string record;
  };
  Notice Next(uint64_t watermark) const;
  // They were told.
  void Told(const Notice& notice);
  // They have forgotten it, and it is not true any more: nothing is left of
  // what the parts have done.
  void Clear();

 private:
  struct Spare {
    std::string text;
    uint64_t since = 0;  // the sequence that its part was set with
  };
  struct Version {
    JobRecord record;
    std::map<std::string, Spare> spares = {};  // of parts, by their keys
    uint64_t step = 0;  // it has what came of the steps up to this
    // Of the watermark, by block: none of its steps after this is accounted
    // for.
    std::map<std::string, uint64_t> limits;

    uint64_t limit() const;
    void Put(const std::string& key, PartText value);
    // With as many spares as it takes to fit.
    std::string Encode() const;
  };
  // With the lock held.
  Version& Change();

  mutable std::mutex mutex_;
  // All guarded by mutex_. The first is what the servers have, or one that they
  // are to have next; never empty.
  std::deque<Version> versions_ = {Version()};
  uint64_t told_ = 0;  // the sequence that the servers have
};

}  // namespace capstan
