// How a coordinator begins: with what another one left on the servers, or from
// scratch. And how it begins again when a server has lost its variables.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/variables.h"
#include "wire/fence_limits.h"

namespace capstan {
namespace {

absl::Status CheckOpenSteps(uint64_t last, const JobRecord& record,
                            uint64_t watermark) {
  for (const auto& [key, block] : record.blocks) {
    last = std::max(last, block.end());
  }
  if (last <= watermark || last - watermark <= kMostOpenSteps) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      "the servers know of step ", last, ", but all are over only up to ",
      watermark, ": start the servers again, or set ",
      "CoordinatorOptions::attach to false, to begin anew"));
}

// A coordinator that begins without some servers numbers its generations from a
// multiple of its term, far enough apart that no earlier coordinator can have
// reached them.
constexpr int kGenerationsOfTerm = 32;

bool Holds(const StoreReport& report) { return report.map_version > 0; }

// The report of the newest generation that holds variables; null if none does.
const StoreReport* Newer(const StoreReport* a, const StoreReport& b) {
  if (!Holds(b)) return a;
  return a == nullptr || b.fence.generation > a->fence.generation ? &b : a;
}

bool Contains(const std::vector<uint32_t>& servers, uint32_t server) {
  return std::find(servers.begin(), servers.end(), server) != servers.end();
}

}  // namespace

Task<absl::StatusOr<JobVariables::Answers>> JobVariables::Ask(
    std::vector<uint32_t> left_out) {
  Answers answers;
  for (uint32_t i = 0; i < client_.num_servers(); ++i) {
    if (Contains(left_out, i)) continue;
    absl::StatusOr<StoreReport> report = co_await client_.Status(i);
    if (!report.ok()) co_return report.status();
    answers.push_back({.server = i, .report = *std::move(report)});
  }
  co_return answers;
}

Task<absl::StatusOr<JobVariables::Answers>> JobVariables::AskAll(
    std::vector<uint32_t>& absent) {
  Answers answers;
  absl::Status failure;
  for (uint32_t i = 0; i < client_.num_servers(); ++i) {
    absl::StatusOr<StoreReport> report = co_await client_.Status(i);
    if (report.ok()) {
      answers.push_back({.server = i, .report = *std::move(report)});
    } else {
      absent.push_back(i);
      failure.Update(report.status());
    }
  }
  const StoreReport* newest = nullptr;
  for (const Answer& answer : answers) newest = Newer(newest, answer.report);
  for (const uint32_t server : absent) {
    const bool known = newest != nullptr && Contains(newest->left_out, server);
    // Without variables the job has not begun: its starter waits.
    const bool may_go = newest != nullptr && begin_without_;
    if (!known && !may_go) co_return failure;
  }
  co_return answers;
}

bool JobVariables::CanAttach(const Answers& answers,
                             const std::vector<uint32_t>& absent,
                             std::string& because) {
  const StoreReport* newest = nullptr;
  for (const Answer& answer : answers) newest = Newer(newest, answer.report);
  if (newest == nullptr) return false;
  for (const uint32_t server : absent) {
    if (Contains(newest->left_out, server)) continue;
    because = absl::StrCat("ps/", server, " does not answer");
    return false;
  }
  for (const Answer& answer : answers) {
    if (Contains(newest->left_out, answer.server)) continue;
    if (Holds(answer.report) &&
        answer.report.fence.generation == newest->fence.generation) {
      continue;
    }
    because = absl::StrCat("ps/", answer.server,
                           " has lost the variables that it held");
    return false;
  }
  return true;
}

Task<absl::Status> JobVariables::Begin() {
  if (generation_ != 0) co_return absl::OkStatus();
  std::vector<uint32_t> absent;
  const absl::StatusOr<Answers> answers = co_await AskAll(absent);
  if (!answers.ok()) co_return answers.status();
  uint64_t last = 0;
  for (const Answer& answer : *answers) {
    last = std::max(last, answer.report.fence.generation);
  }
  std::string because;
  if (attach_ && CanAttach(*answers, absent, because)) {
    co_return co_await Attach(last);
  }
  // A server that does not answer may know of a generation that no other server
  // knows, from an earlier coordinator, whose term is lower.
  if (!absent.empty()) last = std::max(last, term_() << kGenerationsOfTerm);
  detached_because_ = std::move(because);
  std::vector<VariableEntry> none;
  absl::StatusOr<ShardMap> empty =
      ShardMap::Make(last + 1, 0, client_.num_servers(), std::move(none), 1,
                     std::move(absent));
  if (!empty.ok()) co_return empty.status();
  generation_ = last + 1;
  map_ = *std::move(empty);
  co_return absl::OkStatus();
}

Task<absl::Status> JobVariables::SettleLastRound(const Answers& answers) {
  const auto ahead = std::max_element(
      answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
        return a.report.committed_round < b.report.committed_round;
      });
  if (ahead->report.committed_round == 0) co_return absl::OkStatus();
  RoundRequest request;
  request.fence = fence();
  request.round = ahead->report.committed_round;
  request.replicas = ahead->report.committed_replicas;
  const UpdateOptions options;
  co_return co_await client_.Commit(std::move(request), options);
}

Task<absl::Status> JobVariables::Attach(uint64_t generation) {
  const UpdateOptions options;
  const Duration timeout = std::chrono::seconds(30);
  // The shard map says which servers serve.
  absl::Status status = co_await client_.Refresh(timeout, nullptr, generation);
  if (!status.ok()) co_return status;
  // From here on no server accepts anything from the previous coordinator.
  WatermarkRequest takeover;
  takeover.fence = {.generation = generation, .term = term_()};
  status = co_await client_.SetWatermark(std::move(takeover), options);
  if (!status.ok()) co_return status;
  const std::span<const uint32_t> left_out = client_.map()->left_out();
  std::vector<uint32_t> others(left_out.begin(), left_out.end());
  const absl::StatusOr<Answers> answers = co_await Ask(std::move(others));
  if (!answers.ok()) co_return answers.status();
  JobRecord record;
  ClosureQueue::ResumePoint point;
  uint64_t version = 0;
  for (const auto& [server, report] : *answers) {
    version = std::max(version, report.map_version);
    point.watermark = std::max(point.watermark, report.watermark);
    point.last = std::max(point.last, report.last_step);
    point.settled = std::max(point.settled, report.committed_round);
    if (report.record.empty()) continue;
    absl::StatusOr<JobRecord> read = DecodeJobRecord(report.record);
    if (!read.ok()) co_return read.status();
    if (read->sequence >= record.sequence) record = *std::move(read);
  }
  status = CheckOpenSteps(point.last, record, point.watermark);
  if (!status.ok()) co_return status;
  // The previous coordinator may have been killed while it installed a new map.
  // Shards that some servers dropped for that map are gone, so all servers must
  // get it.
  status = co_await client_.Refresh(timeout, nullptr, generation, version);
  if (!status.ok()) co_return status;
  generation_ = generation;
  map_ = *client_.map();
  status = co_await SettleLastRound(*answers);
  if (!status.ok()) {
    generation_ = 0;
    co_return status;
  }
  const absl::StatusOr<RoundRules> rules = RulesOf(map_.entries());
  if (!rules.ok()) co_return rules.status();
  point.rules = *rules;
  point.next_round = point.settled + 1;
  for (const auto& [key, block] : record.blocks) {
    point.blocks.push_back(block);
    if (block.first_round == 0 || point.rules.places() == 0) continue;
    // A block begins with a round, and every record of it ends with one.
    const uint64_t done =
        point.watermark < block.first ? 0 : point.watermark - block.first + 1;
    point.next_round = std::min(
        point.next_round, block.first_round + done / point.rules.places());
  }
  queue_.Resume(point);
  status = LoadKeys(record, point.last);
  if (!status.ok()) {
    generation_ = 0;
    co_return status;
  }
  watermark_ = point.watermark;
  records_.Load(std::move(record), watermark_);
  unclaimed_.clear();  // from an earlier attempt
  for (const VariableEntry& entry : map_.entries()) {
    unclaimed_.insert(entry.spec.name);
  }
  ShardMap map = map_;
  status = co_await client_.Install(map, term_(), watermark_);
  if (!status.ok()) {
    // So that it is tried again.
    generation_ = 0;
    co_return status;
  }
  attached_ = true;
  co_return absl::OkStatus();
}

absl::Status JobVariables::LoadKeys(const JobRecord& record, uint64_t last) {
  const auto part = record.parts.find(kStepKeysPart);
  if (part == record.parts.end()) return absl::OkStatus();
  const absl::StatusOr<CompleteKeys> keys = DecodeCompleteKeys(part->second);
  if (!keys.ok()) return keys.status();
  return queue_.LoadKeys(*keys, record.blocks, last);
}

Task<absl::Status> JobVariables::Rebuild(std::vector<uint32_t> left_out,
                                         Cancellation* cancellation) {
  std::vector<uint32_t> not_asked = left_out;
  const absl::StatusOr<Answers> answers = co_await Ask(std::move(not_asked));
  if (!answers.ok()) co_return answers.status();
  uint64_t last = std::max(generation_, tried_);
  for (const Answer& answer : *answers) {
    last = std::max(last, answer.report.fence.generation);
  }
  absl::StatusOr<ShardMap> map = PlaceAnew(map_, last + 1, std::move(left_out));
  if (!map.ok()) co_return map.status();
  tried_ = last + 1;
  const uint64_t term = term_();
  // No key is scheduled until it is known that the values are the initial ones.
  const bool keys = queue_.KeysUsed();
  if (keys) {
    const absl::Status none = queue_.ResetKeys({.restoring = true});
    if (!none.ok()) co_return none;
  }
  // Steps that were begun belong to the old generation, and are void.
  const uint64_t begun = queue_.last_step();
  const Duration install_timeout = std::chrono::minutes(10);
  absl::Status status = co_await client_.Install(*map, term, begun,
                                                 install_timeout, cancellation);
  if (!status.ok()) co_return status;
  generation_ = last + 1;
  map_ = *std::move(map);
  watermark_ = begun;
  unclaimed_.clear();
  queue_.RestartRounds();
  // The values are the initial ones again until a checkpoint is restored: a
  // coordinator that takes over before that must not continue with them.
  records_.Clear();
  if (keys) {
    status = queue_.ResetKeys({});
    if (!status.ok()) co_return status;
  }
  co_return co_await Publish(cancellation);
}

}  // namespace capstan
