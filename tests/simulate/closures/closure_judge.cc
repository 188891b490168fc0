#include "simulate/closures/closure_judge.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace capstan::simulate {
namespace {

bool IsPlannedFailure(ClosureKind kind) {
  return kind == ClosureKind::kFailEarly || kind == ClosureKind::kFailLate;
}

bool IsFailure(const absl::Status& status) {
  return !status.ok() && !absl::IsCancelled(status);
}

double Seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

ClosureJudge::ClosureJudge(SimWorld& world, Violations& violations,
                           const ClosureOptions& options,
                           const ClosureVariables& variables)
    : world_(world),
      violations_(violations),
      options_(options),
      variables_(variables),
      histories_(options.num_tables() * kDigitVariables * variables.shards()) {}

void ClosureJudge::Violation(std::string_view what) {
  violations_.Add(world_.clock().Now(), what);
}

ShardHistory& ClosureJudge::History(size_t table, DigitVariable variable,
                                    size_t shard) {
  const size_t index = table * kDigitVariables + static_cast<size_t>(variable);
  return histories_[index * variables_.shards() + shard];
}

std::string ClosureJudge::NameOfShard(size_t table, DigitVariable variable,
                                      size_t shard) const {
  return absl::StrCat(variables_.NameOf(variable, table), ", shard ", shard);
}

// --- The program.

ClosureJudge::ClosurePtr ClosureJudge::NewClosure(ClosureKind kind,
                                                  const DataRange& range,
                                                  bool wanted) {
  const size_t number = records_.size();
  if (number >= static_cast<size_t>(options_.closures)) {
    Violation("the scenario has too few closures for its program");
  }
  Record& record = records_.emplace_back();
  record.call.number = number;
  record.call.kind = kind;
  record.call.range = range;
  record.has_range = kind != ClosureKind::kEvaluate;
  if (wanted) record.wanted = std::make_shared<int>();
  MakeClosure(record);
  return record.closure;
}

void ClosureJudge::MakeClosure(Record& record) {
  record.closure = std::make_shared<Closure>();
  const uint32_t function = record.call.kind == ClosureKind::kEvaluate
                                ? kEvaluateFunction
                                : kStepFunction;
  record.closure->function =
      std::make_shared<const FunctionInfo>(InfoOf(function));
  record.closure->arguments = EncodeCall(record.call);
  record.closure->wanted = record.wanted;
}

ClosureJudge::ClosurePtr ClosureJudge::Renew(size_t number) {
  Record& record = records_[number];
  // Data counts as used once by the job's record, not by what runs.
  record.has_range = false;
  if (record.lives == 0) return record.closure;
  record.succeeded = record.ok();
  if (options_.sync()) record.first_round = record.round();
  record.ended = 0;
  record.cut_off = false;
  record.cancel_requested = false;
  MakeClosure(record);
  return record.closure;
}

void ClosureJudge::OnNewLife() {
  ++tally_.lost;
  ++life_;
  for (Record& record : records_) {
    if (record.put && record.ended == 0) record.cut_off = true;
  }
}

void ClosureJudge::OnPut(size_t number) {
  ++tally_.requests;
  Record& record = records_[number];
  record.put = true;
  ++record.lives;
  record.life = life_;
  record.reports = reports_;
  const uint64_t round = record.closure->place.round;
  if (options_.sync() && record.round() != round) {
    Violation(absl::StrCat("closure ", number, " was of round ", record.round(),
                           ", and is of round ", round));
  }
  last_step_ = record.closure->step;
  bool told = !unreported_;
  for (size_t i = first_open_; i < number; ++i) {
    const Record& other = records_[i];
    told &= !other.put || !other.done() || other.reports != reports_ ||
            !IsFailure(other.closure->status);
  }
  if (told) return;
  Violation(absl::StrCat("closure ", number, " was queued although another ",
                         "one had failed, and nobody was told"));
}

ClosureJudge::ClosurePtr ClosureJudge::ChooseToCancel(Random& random) {
  std::vector<size_t> open;
  for (size_t i = first_open_; i < records_.size(); ++i) {
    if (records_[i].put && !records_[i].done()) open.push_back(i);
  }
  if (open.empty()) return nullptr;
  Record& record = records_[open[random.Below(open.size())]];
  record.cancel_requested = true;
  return record.closure;
}

void ClosureJudge::OnEnded(size_t number) {
  Record& record = records_[number];
  if (++record.ended > 1 || !record.ended_now()) {
    return Violation(absl::StrCat(
        "closure ", number,
        record.ended_now() ? " has ended twice" : " is said to have ended"));
  }
  while (first_open_ < records_.size() &&
         (records_[first_open_].ended > 0 || records_[first_open_].refused)) {
    ++first_open_;
  }
  CheckStatus(record);
  unreported_ |=
      IsFailure(record.closure->status) && record.reports == reports_;
  if (options_.gentle && !record.closure->lost_with.empty()) {
    Violation(absl::StrCat("closure ", number, " was lost with ",
                           absl::StrJoin(record.closure->lost_with, ", "),
                           ", but no worker was lost"));
  }
  if (record.closure->status.ok()) {
    ++tally_.replies;
    CheckValue(record);
    if (record.has_range) UseData(record);
  }
}

void ClosureJudge::CheckStatus(const Record& record) {
  const absl::Status& status = record.closure->status;
  const size_t number = record.call.number;
  const ClosureKind kind = record.call.kind;
  if (status.ok()) {
    if (IsPlannedFailure(kind) || kind == ClosureKind::kPoison) {
      Violation(
          absl::StrCat("closure ", number, " succeeded, which it cannot"));
    }
    return;
  }
  if (absl::IsCancelled(status)) {
    ++tally_.cancelled;
    // Otherwise the failure of another closure, or of a server, must have
    // caused it.
    const bool asked = record.cancel_requested &&
                       !absl::StrContains(status.message(), "another");
    if (!asked && !CalledOff(record)) {
      Violation(absl::StrCat(
          "closure ", number,
          " was cancelled, and nothing has failed: ", Describe(status)));
    }
    return;
  }
  if (status.GetPayload(kPoisonedUrl)) return CheckPoison(record);
  const std::string planned = absl::StrCat("closure ", number, " fails");
  if (!IsPlannedFailure(kind) || !absl::IsInvalidArgument(status) ||
      !absl::StrContains(status.message(), planned) ||
      !absl::StartsWith(TaskOf(status), "worker/")) {
    Violation(absl::StrCat("closure ", number,
                           " failed, which it should not: ", Describe(status)));
  }
}

void ClosureJudge::OnCall(const ClosureQueue& queue) {
  called_ |= !queue.counts().error.ok();
}

bool ClosureJudge::CalledOff(const Record& record) const {
  // Reported since it was put, or yet to be reported.
  if (server_scares_ > 0 || reports_ != record.reports) return true;
  // A closure that was lost with its worker does not start again, and one that
  // waits for a round that has failed is cancelled without a call.
  const bool lost = !record.closure->lost_with.empty();
  if (!called_ && !lost && !options_.sync()) return false;
  return std::any_of(records_.begin(), records_.end(),
                     [&](const Record& other) {
                       return other.put && other.reports == reports_ &&
                              other.done() && IsFailure(other.closure->status);
                     });
}

void ClosureJudge::CheckPoison(const Record& record) {
  const size_t number = record.call.number;
  const auto limit = static_cast<size_t>(options_.poison_limit);
  if (record.call.kind != ClosureKind::kPoison) {
    return Violation(absl::StrCat("closure ", number,
                                  " is innocent, but was declared poisoned: ",
                                  Describe(record.closure->status)));
  }
  // Another closure may have killed the first worker while both were on it.
  if (!absl::IsAborted(record.closure->status) ||
      record.closure->lost_with.size() != limit || record.crashes > limit ||
      record.crashes + 1 < limit) {
    Violation(absl::StrCat(
        "closure ", number, " was declared poisoned after it took down ",
        record.crashes, " workers, not ", limit, ", and was said to be lost ",
        "with ", absl::StrJoin(record.closure->lost_with, ", ")));
  }
}

void ClosureJudge::CheckValue(const Record& record) {
  const EncodedValue& value = record.closure->value;
  const bool right = record.wanted != nullptr
                         ? IsResultOf(record.call, value)
                         : value.bytes.empty() && value.tensors.empty();
  if (right) return;
  Violation(absl::StrCat("closure ", record.call.number,
                         " has a result that is not its own"));
}

void ClosureJudge::UseData(const Record& record) {
  const DataRange& range = record.call.range;
  std::vector<uint32_t>& used = used_[range.epoch];
  used.resize(static_cast<size_t>(options_.ranges * options_.batch));
  for (int64_t i = range.begin; i < range.end; ++i) {
    if (++used[static_cast<size_t>(i)] == 1) continue;
    return Violation(absl::StrCat("example ", i, " was used twice in epoch ",
                                  range.epoch, ", by closure ",
                                  record.call.number, " among others"));
  }
}

bool ClosureJudge::AllUsed(uint64_t epoch) const {
  // The last range is one example short.
  const auto examples =
      static_cast<ptrdiff_t>(options_.ranges * options_.batch - 1);
  for (uint64_t i = 0; i < epoch; ++i) {
    const auto found = used_.find(i);
    if (found == used_.end()) return false;
    const auto begin = found->second.begin();
    if (std::find(begin, begin + examples, 0u) != begin + examples) {
      return false;
    }
  }
  return true;
}

void ClosureJudge::OnError(const absl::Status& status,
                           const ClosureQueue& queue) {
  const QueueCounts counts = queue.counts();
  if (counts.in_flight != 0 || counts.queued != 0) {
    Violation(absl::StrCat("an error was reported while ", counts.in_flight,
                           " closures ran and ", counts.queued,
                           " were queued: ", Describe(status)));
  }
  // This error reports the closures that have ended since the last report.
  size_t failed = 0;
  bool first = false;
  for (const Record& record : records_) {
    if (!record.put || record.reports != reports_) continue;
    if (!record.done()) {
      Violation(absl::StrCat("an error was reported, but closure ",
                             record.call.number, " has not ended"));
    } else if (IsFailure(record.closure->status)) {
      ++failed;
      first |= record.closure->status.code() == status.code();
    }
  }
  const bool of_server = absl::StartsWith(TaskOf(status), "ps/");
  if (of_server ? server_scares_ == 0 : failed == 0 || !first) {
    Violation(absl::StrCat("an error was reported that no closure has had: ",
                           Describe(status)));
  }
  const size_t listed = queue.LastErrors().size();
  if (!of_server && listed != failed) {
    Violation(
        absl::StrCat("of ", failed, " failures, LastErrors has ", listed));
  }
  called_off_.emplace_back(joined_step_ + 1, last_step_);
  unreported_ = false;
  called_ = false;
  first_unjoined_ = records_.size();
  ++reports_;
  ++tally_.late;
}

void ClosureJudge::OnJoined() {
  for (size_t i = first_unjoined_; i < records_.size(); ++i) {
    const Record& record = records_[i];
    if (!record.put || record.reports != reports_) continue;
    if (!record.done()) {
      Violation(
          absl::StrCat("Join returned, but closure ", i, " has not ended"));
    } else if (!record.closure->status.ok() && !record.cancel_requested) {
      Violation(absl::StrCat("Join returned without an error, but closure ", i,
                             " has one: ", Describe(record.closure->status)));
    }
  }
  joined_step_ = last_step_;
  first_unjoined_ = records_.size();
}

// --- The functions.

void ClosureJudge::OnRun(size_t number) {
  Record& record = records_[number];
  ++runs_;
  // From the second closure of each worker to its last, on average.
  const auto all = static_cast<size_t>(options_.ranges * options_.epochs);
  const size_t workers = options_.all_workers();
  if (runs_ == 2 * workers) busy_begin_ = world_.clock().Now();
  if (runs_ + workers == all) busy_end_ = world_.clock().Now();
  if (++record.runs > 1) ++tally_.retries;
  if (!record.put) {
    Violation(absl::StrCat("closure ", number, " runs, but was never queued"));
  }
}

void ClosureJudge::OnComputed(MonotonicTime since) {
  if (options_.min_busy > 0) {
    computed_.emplace_back(since, world_.clock().Now());
  }
}

void ClosureJudge::OnInvoke(size_t number, DigitVariable variable) {
  const size_t table = variables_.TableOf(number);
  for (size_t i = 0; i < variables_.shards(); ++i) {
    History(table, variable, i).OnInvoke(variables_.SlotOf(number));
  }
}

void ClosureJudge::OnAck(size_t number, size_t push,
                         const std::vector<DigitVariable>& of,
                         const UpdateResult& result) {
  Record& record = records_[number];
  const uint64_t shards = of.size() * variables_.shards();
  const uint64_t answers =
      result.applied + result.already_applied + result.staged + result.dropped;
  if (answers != shards || result.skipped != 0) {
    Violation(absl::StrCat("an update of closure ", number,
                           " was acknowledged by ", answers, " of ", shards,
                           " shards, and skipped by ", result.skipped));
  }
  uint64_t& applied = record.applied[push];
  applied += result.applied;
  if (applied > shards) {
    Violation(absl::StrCat("an update of closure ", number, " was applied ",
                           applied, " times on ", shards,
                           " shards, by the answers"));
  }
  // A finished step that was not done is acknowledged, too.
  if (options_.sync() || (record.done() && !record.ok())) return;
  for (const DigitVariable variable : of) {
    for (size_t i = 0; i < variables_.shards(); ++i) {
      History(variables_.TableOf(number), variable, i)
          .OnAck(variables_.SlotOf(number));
    }
  }
}

ClosureJudge::View ClosureJudge::OnReadBegin(size_t table) const {
  View view;
  const size_t count = kDigitVariables * variables_.shards();
  for (size_t i = 0; i < count; ++i) {
    view.push_back(histories_[table * count + i].MustSee());
  }
  return view;
}

void ClosureJudge::CheckDigits(const std::string& shard,
                               const Decoded& decoded) {
  if (!decoded.readable) {
    Violation(absl::StrCat(shard, ": values that are no sum of updates"));
  }
  for (const size_t slot : decoded.repeated) {
    Violation(
        absl::StrCat(shard, ": slot ", slot, " was applied more than once"));
  }
}

void ClosureJudge::OnRead(const View& view, size_t table,
                          DigitVariable variable, std::span<const float> values,
                          std::optional<size_t> reader) {
  for (size_t i = 0; i < variables_.shards(); ++i) {
    const std::string name = NameOfShard(table, variable, i);
    const Decoded decoded = variables_.Decode(values, i);
    CheckDigits(name, decoded);
    const size_t place =
        static_cast<size_t>(variable) * variables_.shards() + i;
    const std::string wrong =
        History(table, variable, i).OnRead(view[place], decoded.slots);
    if (!wrong.empty()) Violation(absl::StrCat(name, ": ", wrong));
    if (!wrong.empty()) continue;
    if (options_.sync()) CheckRounds(name, decoded.slots, reader);
    if (options_.bounded() && reader) {
      CheckClocks(name, table, decoded.slots, *reader);
    }
  }
}

void ClosureJudge::CheckRounds(const std::string& shard, const SlotSet& seen,
                               std::optional<size_t> reader) {
  std::map<uint64_t, SlotSet> sets;
  seen.ForEach([&](size_t slot) { sets[records_[slot].round()].Insert(slot); });
  const uint64_t last = sets.empty() ? 0 : sets.rbegin()->first;
  const uint64_t own = reader ? records_[*reader].round() : 0;
  // Rounds before the reader's own, and before any that is visible, are
  // settled.
  const uint64_t settled = std::max(last, own == 0 ? 0 : own - 1);
  for (uint64_t round = 1; round <= settled; ++round) {
    Round& known = rounds_[round];
    const SlotSet& now = sets[round];
    const bool same =
        !now.FirstNotIn(known.slots) && !known.slots.FirstNotIn(now);
    if (!same && (known.final || known.slots.size() > 0)) {
      Violation(absl::StrCat(shard, ": round ", round, " has ", now.size(),
                             " updates, and had ", known.slots.size(),
                             " before or elsewhere"));
    }
    known.slots = now;
    if (round < last || round < own) known.final = true;
  }
  if (own != 0 && last >= own && options_.backup == 0 &&
      !records_[*reader].done() && records_[*reader].lives == 1) {
    Violation(absl::StrCat(shard, ": closure ", *reader, " of round ", own,
                           " saw round ", last));
  }
}

void ClosureJudge::CheckClocks(const std::string& shard, size_t table,
                               const SlotSet& seen, size_t reader) {
  const uint64_t clock = records_[reader].round();
  const auto slack = static_cast<uint64_t>(options_.bound) + 1;
  if (clock <= slack) return;
  for (const Record& record : records_) {
    if (!record.put || record.round() == 0) continue;
    if (record.round() + slack > clock) continue;
    // Each life counts its own clocks, and what remains of the previous life
    // follows the clocks of that life.
    if (record.life != records_[reader].life || records_[reader].lives > 1) {
      continue;
    }
    const size_t number = record.call.number;
    if (!record.done()) {
      Violation(absl::StrCat("closure ", reader, " runs at clock ", clock,
                             ", but ", number, " of clock ", record.round(),
                             " has not ended"));
    } else if (record.ok() && variables_.TableOf(number) == table &&
               !seen.Contains(variables_.SlotOf(number))) {
      Violation(absl::StrCat(shard, ": was read at clock ", clock,
                             " without closure ", number, " of clock ",
                             record.round()));
    }
  }
}

// --- The end.

void ClosureJudge::OnFinal(size_t table, DigitVariable variable,
                           std::span<const float> values) {
  for (size_t i = 0; i < variables_.shards(); ++i) {
    const std::string name = NameOfShard(table, variable, i);
    const Decoded decoded = variables_.Decode(values, i);
    CheckDigits(name, decoded);
    for (size_t number = table; number < records_.size();
         number += variables_.tables()) {
      const Record& record = records_[number];
      const bool there = decoded.slots.Contains(variables_.SlotOf(number));
      const bool updates = record.call.kind != ClosureKind::kEvaluate;
      if (record.ok() && updates && !there && !options_.sync()) {
        Violation(absl::StrCat("at the end ", name, " is without closure ",
                               number, ", which succeeded"));
      }
      if (there &&
          (!record.put || !updates || (options_.sync() && !record.ok()))) {
        Violation(absl::StrCat("at the end ", name, " has closure ", number,
                               ", which it must not"));
      }
    }
  }
}

void ClosureJudge::CheckFinalRounds() {
  std::map<uint64_t, std::vector<const Record*>> members;
  for (const Record& record : records_) {
    if (record.put && record.round() != 0) {
      members[record.round()].push_back(&record);
    }
  }
  for (const auto& [round, records] : members) {
    size_t succeeded = 0;
    bool called_off = false;
    for (const Record* record : records) {
      if (record->ok()) ++succeeded;
      for (const auto& [first, last] : called_off_) {
        const uint64_t step = record->closure->step;
        called_off |= step >= first && step <= last;
      }
    }
    const size_t expected =
        std::min(succeeded, static_cast<size_t>(options_.replicas));
    const size_t there = rounds_[round].slots.size();
    if (there == expected || (there == 0 && called_off)) continue;
    Violation(absl::StrCat("at the end round ", round, " has ", there,
                           " updates, not ", expected));
  }
}

void ClosureJudge::CheckAllSucceeded(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (records_[i].put && records_[i].ok()) continue;
    Violation(absl::StrCat(
        "the job is over, and closure ", i,
        records_[i].put ? " has not succeeded" : " was never put"));
  }
}

void ClosureJudge::OnEnd() {
  for (const Record& record : records_) {
    if (!record.put || record.cut_off || record.ended == 1) continue;
    Violation(absl::StrCat("closure ", record.call.number,
                           " has ended without a word"));
  }
  if (options_.sync()) CheckFinalRounds();
  if (options_.min_busy > 0 && Busy() < options_.min_busy) {
    Violation(absl::StrCat("workers were kept too idle: ", BusyText()));
  }
}

double ClosureJudge::Busy() const {
  if (busy_end_ == kNever || busy_end_ <= busy_begin_) return 0;
  Duration total{};
  for (const auto& [since, until] : computed_) {
    const MonotonicTime from = std::max(since, busy_begin_);
    const MonotonicTime to = std::min(until, busy_end_);
    if (to > from) total += to - from;
  }
  const double workers =
      static_cast<double>(options_.all_workers()) * options_.concurrency;
  return Seconds(total) / (Seconds(busy_end_ - busy_begin_) * workers);
}

std::string ClosureJudge::BusyText() const {
  if (options_.min_busy <= 0 || busy_end_ == kNever) return "";
  const auto count =
      std::count_if(computed_.begin(), computed_.end(), [&](const auto& one) {
        return one.second > busy_begin_ && one.second <= busy_end_;
      });
  const double seconds = Seconds(busy_end_ - busy_begin_);
  return absl::StrFormat(
      "workers computed for %.1f %% of %.0f ms, and finished %.0f closures per "
      "second",
      100 * Busy(), 1000 * seconds, static_cast<double>(count) / seconds);
}

}  // namespace capstan::simulate
