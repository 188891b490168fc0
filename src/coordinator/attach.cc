// How a coordinator begins: with what another one has left on the servers, or
// with nothing. And how it begins once more when a server has lost its part.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/variables.h"

namespace capstan {
namespace {

// Steps that may not be over, as each takes memory. More than any job has at
// once: whoever says so has lost count.
constexpr uint64_t kMostOpenSteps = uint64_t{1} << 28;

absl::Status CheckOpenSteps(const std::vector<StoreReport>& reports,
                            const JobRecord& record, uint64_t watermark) {
  uint64_t last = 0;
  for (const StoreReport& report : reports) {
    last = std::max(last, report.last_step);
  }
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

}  // namespace

Task<absl::StatusOr<std::vector<StoreReport>>> JobVariables::AskAll() {
  std::vector<StoreReport> reports;
  for (uint32_t i = 0; i < client_.num_servers(); ++i) {
    absl::StatusOr<StoreReport> report = co_await client_.Status(i);
    if (!report.ok()) co_return report.status();
    reports.push_back(*std::move(report));
  }
  co_return reports;
}

bool JobVariables::CanAttach(const std::vector<StoreReport>& reports,
                             std::string& because) {
  uint64_t newest = 0;
  for (const StoreReport& report : reports) {
    if (report.map_version > 0) {
      newest = std::max(newest, report.fence.generation);
    }
  }
  if (newest == 0) return false;
  for (size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].map_version > 0 && reports[i].fence.generation == newest) {
      continue;
    }
    because = absl::StrCat("ps/", i, " has lost the variables that it held");
    return false;
  }
  return true;
}

Task<absl::Status> JobVariables::Begin() {
  if (generation_ != 0) co_return absl::OkStatus();
  const absl::StatusOr<std::vector<StoreReport>> reports = co_await AskAll();
  if (!reports.ok()) co_return reports.status();
  uint64_t last = 0;
  for (const StoreReport& report : *reports) {
    last = std::max(last, report.fence.generation);
  }
  std::string because;
  if (attach_ && CanAttach(*reports, because)) {
    co_return co_await Attach(last);
  }
  detached_because_ = std::move(because);
  std::vector<VariableEntry> none;
  absl::StatusOr<ShardMap> empty =
      ShardMap::Make(last + 1, 0, client_.num_servers(), std::move(none), 1);
  if (!empty.ok()) co_return empty.status();
  generation_ = last + 1;
  map_ = *std::move(empty);
  co_return absl::OkStatus();
}

Task<absl::Status> JobVariables::SettleLastRound(
    const std::vector<StoreReport>& reports) {
  const auto ahead =
      std::max_element(reports.begin(), reports.end(),
                       [](const StoreReport& a, const StoreReport& b) {
                         return a.committed_round < b.committed_round;
                       });
  const bool all = std::all_of(
      reports.begin(), reports.end(), [&](const StoreReport& report) {
        return report.committed_round == ahead->committed_round;
      });
  if (all) co_return absl::OkStatus();
  RoundRequest request;
  request.fence = fence();
  request.round = ahead->committed_round;
  request.replicas = ahead->committed_replicas;
  const UpdateOptions options;
  co_return co_await client_.Commit(std::move(request), options);
}

Task<absl::Status> JobVariables::Attach(uint64_t generation) {
  const UpdateOptions options;
  // From here on no server takes anything from the one before.
  WatermarkRequest takeover;
  takeover.fence = {.generation = generation, .term = term_()};
  absl::Status status =
      co_await client_.SetWatermark(std::move(takeover), options);
  if (!status.ok()) co_return status;
  status = co_await client_.Refresh();
  if (!status.ok()) co_return status;
  absl::StatusOr<std::vector<StoreReport>> reports = co_await AskAll();
  if (!reports.ok()) co_return reports.status();
  JobRecord record;
  ClosureQueue::ResumePoint point;
  for (const StoreReport& report : *reports) {
    point.watermark = std::max(point.watermark, report.watermark);
    point.last = std::max(point.last, report.last_step);
    point.settled = std::max(point.settled, report.committed_round);
    if (report.record.empty()) continue;
    absl::StatusOr<JobRecord> read = DecodeJobRecord(report.record);
    if (!read.ok()) co_return read.status();
    if (read->sequence >= record.sequence) record = *std::move(read);
  }
  status = CheckOpenSteps(*reports, record, point.watermark);
  if (!status.ok()) co_return status;
  generation_ = generation;
  map_ = *client_.map();
  status = co_await SettleLastRound(*reports);
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
    // Blocks begin with a round, and end one with every record.
    const uint64_t done =
        point.watermark < block.first ? 0 : point.watermark - block.first + 1;
    point.next_round = std::min(
        point.next_round, block.first_round + done / point.rules.places());
  }
  queue_.Resume(point);
  watermark_ = point.watermark;
  records_.Load(std::move(record), watermark_);
  for (const VariableEntry& entry : map_.entries()) {
    unclaimed_.insert(entry.spec.name);
  }
  // One of them may have missed the last map.
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

Task<absl::Status> JobVariables::Rebuild(Cancellation* cancellation) {
  const absl::StatusOr<std::vector<StoreReport>> reports = co_await AskAll();
  if (!reports.ok()) co_return reports.status();
  uint64_t last = generation_;
  for (const StoreReport& report : *reports) {
    last = std::max(last, report.fence.generation);
  }
  const std::span<const VariableEntry> entries = map_.entries();
  std::vector<VariableEntry> copy(entries.begin(), entries.end());
  absl::StatusOr<ShardMap> map = ShardMap::Make(
      last + 1, 1, map_.servers(), std::move(copy), map_.next_id());
  if (!map.ok()) co_return map.status();
  const uint64_t term = term_();
  // What was begun before is of the old generation, and void.
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
  // The values are the first ones again, until a checkpoint is restored: a
  // coordinator that takes over before that must not go on with them.
  records_.Clear();
  co_return co_await PublishRecord(cancellation);
}

}  // namespace capstan
