#include "coordinator/variables.h"

#include <algorithm>
#include <asio/this_coro.hpp>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/by_name.h"
#include "tensor/view.h"

namespace capstan {
namespace {

// For calls that end when a server is lost: until then they wait for a silent
// one, as everything does.
constexpr Duration kUntilLost = std::chrono::minutes(10);

absl::Status Contradiction(const std::string& one, const std::string& other) {
  return absl::InvalidArgumentError(absl::StrCat(
      "variables '", one, "' and '", other,
      "' have update modes that do not go together: in one job all Sync have "
      "the same replicas and backup, and BoundedStaleness the same replicas"));
}

}  // namespace

absl::StatusOr<RoundRules> RulesOf(std::span<const VariableEntry> entries) {
  RoundRules rules;
  std::string first;
  std::string first_sync;
  for (const VariableEntry& entry : entries) {
    const auto* sync = std::get_if<Sync>(&entry.spec.update);
    const auto* bounded = std::get_if<BoundedStaleness>(&entry.spec.update);
    if (sync == nullptr && bounded == nullptr) continue;
    const auto replicas = static_cast<uint32_t>(
        sync != nullptr ? sync->replicas : bounded->replicas);
    if (first.empty()) {
      first = entry.spec.name;
      rules.replicas = replicas;
    }
    if (replicas != rules.replicas) {
      return Contradiction(first, entry.spec.name);
    }
    if (sync != nullptr) {
      const auto backup = static_cast<uint32_t>(sync->backup);
      if (rules.sync && backup != rules.backup) {
        return Contradiction(first_sync, entry.spec.name);
      }
      rules.sync = true;
      rules.backup = backup;
      if (first_sync.empty()) first_sync = entry.spec.name;
    } else {
      const auto bound = static_cast<uint64_t>(bounded->bound);
      rules.bound = rules.bounded ? std::min(rules.bound, bound) : bound;
      rules.bounded = true;
    }
  }
  return rules;
}

namespace {

// OK if `spec` equals `there`, except for what may change while a job runs.
absl::Status CheckSame(const VariableSpec& there, const VariableSpec& spec) {
  const bool same = there.dtype == spec.dtype && there.shape == spec.shape &&
                    there.update.index() == spec.update.index() &&
                    there.optimizer.has_value() == spec.optimizer.has_value() &&
                    (!spec.optimizer || there.optimizer->rule.index() ==
                                            spec.optimizer->rule.index());
  if (same) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "variable '", spec.name, "' is ", Describe(there.dtype, there.shape),
      " on the servers, which a coordinator before this one has left running; "
      "the program asks for ",
      Describe(spec.dtype, spec.shape),
      ", or for another optimizer or update mode: start the servers again, or "
      "set CoordinatorOptions::attach to false, to begin anew"));
}

}  // namespace

JobVariables::JobVariables(ParameterClient& client, ClosureQueue& queue,
                           std::function<uint64_t()> term, bool attach,
                           bool begin_without)
    : client_(client),
      queue_(queue),
      term_(std::move(term)),
      attach_(attach),
      begin_without_(begin_without) {}

Fence JobVariables::fence() const {
  return {.generation = generation_, .term = term_()};
}

Task<absl::Status> JobVariables::Install(ShardMap map) {
  const uint64_t term = term_();
  absl::Status status = co_await client_.Install(map, term, watermark_);
  if (status.ok()) {
    map_ = std::move(map);
    co_return status;
  }
  // Some servers may have installed it: the old map becomes the next version.
  const std::span<const VariableEntry> entries = map_.entries();
  std::vector<VariableEntry> copy(entries.begin(), entries.end());
  absl::StatusOr<ShardMap> before = map.Next(std::move(copy));
  if (before.ok()) {
    map_ = *std::move(before);
    const absl::Status undone =
        co_await client_.Install(map_, term, watermark_);
    if (!undone.ok()) {
      co_return WithContext(
          status, absl::StrCat("and the variables of before could not be made "
                               "again (",
                               std::string(undone.message()), ")"));
    }
  }
  co_return status;
}

Task<absl::Status> JobVariables::Create(std::vector<VariableSpec> specs,
                                        Partitioner partitioner) {
  absl::Status status = co_await Begin();
  if (!status.ok()) co_return status;
  std::vector<std::string> claimed;
  std::vector<VariableSpec> added;
  for (VariableSpec& spec : specs) {
    if (!unclaimed_.contains(spec.name)) {
      added.push_back(std::move(spec));
      continue;
    }
    status = CheckSame(map_.Find(spec.name)->spec, spec);
    if (!status.ok()) co_return status;
    claimed.push_back(spec.name);
  }
  for (const std::string& name : claimed) unclaimed_.erase(name);
  if (added.empty() && !claimed.empty()) co_return absl::OkStatus();
  specs = std::move(added);
  if (partitioner == nullptr) {
    partitioner = DefaultPartitioner(map_.num_serving());
  }
  absl::StatusOr<ShardMap> next =
      AddVariables(map_, std::move(specs), partitioner);
  if (!next.ok()) co_return next.status();
  const absl::StatusOr<RoundRules> rules = RulesOf(next->entries());
  if (!rules.ok()) co_return rules.status();
  const RoundRules before = queue_.rules();
  if (!queue_.SetRules(*rules)) {
    co_return absl::FailedPreconditionError(
        "the update modes of a job cannot change once steps have run in them: "
        "create all variables with Sync or BoundedStaleness before the first "
        "step");
  }
  ShardMap map = *std::move(next);
  status = co_await Install(std::move(map));
  if (!status.ok()) queue_.SetRules(before);
  co_return status;
}

Task<absl::Status> JobVariables::Drop(std::vector<std::string> names) {
  absl::StatusOr<ShardMap> next = DropVariables(map_, names);
  if (!next.ok()) co_return next.status();
  ShardMap map = *std::move(next);
  absl::Status status = co_await Install(std::move(map));
  if (status.ok()) {
    for (const std::string& name : names) unclaimed_.erase(name);
  }
  co_return status;
}

Task<absl::Status> JobVariables::ChangeLearningRate(
    std::vector<std::string> names, LearningRate rate) {
  absl::StatusOr<ShardMap> next = SetLearningRate(map_, names, rate);
  if (!next.ok()) co_return next.status();
  ShardMap map = *std::move(next);
  co_return co_await Install(std::move(map));
}

Task<absl::StatusOr<std::vector<Tensor>>> JobVariables::Read(
    std::vector<std::string> names, Duration limit) {
  ReadOptions options;
  options.limit = limit;
  co_return co_await ReadByName(client_, std::move(names), options);
}

Task<absl::StatusOr<Tensor>> JobVariables::ReadRows(std::string name,
                                                    std::vector<int64_t> ids,
                                                    Duration limit) {
  ReadOptions options;
  options.limit = limit;
  co_return co_await ReadRowsByName(client_, std::move(name), std::move(ids),
                                    options);
}

Task<absl::StatusOr<UpdateResult>> JobVariables::Apply(
    Operation operation, std::vector<VariableUpdate> updates,
    Cancellation* cancellation) {
  UpdateId id;
  id.fence = fence();
  id.step = queue_.BeginStep();
  UpdateOptions options;
  if (cancellation != nullptr) options.timeout = kUntilLost;
  options.cancellation = cancellation;
  absl::StatusOr<UpdateResult> summary = co_await UpdateByName(
      client_, id, operation, std::move(updates), options);
  queue_.EndStep(id.step);
  co_return summary;
}

Task<absl::StatusOr<std::vector<uint64_t>>> JobVariables::Staleness() {
  std::vector<uint64_t> sum(StalenessHistogram().size());
  for (uint32_t i = 0; i < client_.num_servers(); ++i) {
    if (!map_.Serves(i)) continue;
    const absl::StatusOr<StoreReport> report = co_await client_.Status(i);
    if (!report.ok()) co_return report.status();
    for (const VariableReport& variable : report->variables) {
      for (size_t bucket = 0; bucket < sum.size(); ++bucket) {
        sum[bucket] += variable.staleness[bucket];
      }
    }
  }
  co_return sum;
}

void JobVariables::AccountKeys() {
  const std::optional<ClosureQueue::KeyRecord> keys =
      queue_.NewKeyRecord(keys_version_);
  if (!keys) return;
  keys_version_ = keys->version;
  records_.SetKeys(keys->complete, keys->blocks);
}

Task<absl::Status> JobVariables::Tell(RecordKeeper::Notice notice,
                                      UpdateOptions options) {
  const uint64_t keys = keys_version_;
  if (telling_) {
    const Executor executor = co_await asio::this_coro::executor;
    const auto turn = std::make_shared<Promise<bool>>(executor);
    to_tell_.push_back(turn);
    co_await turn->Get();
  }
  telling_ = true;
  WatermarkRequest request;
  request.fence = fence();
  request.watermark = notice.watermark;
  request.record = notice.record;
  absl::Status status =
      co_await client_.SetWatermark(std::move(request), options);
  // The first waiter gets the turn directly, so that nobody comes in between.
  telling_ = !to_tell_.empty();
  if (telling_) {
    to_tell_.front()->Set(true);
    to_tell_.pop_front();
  }
  if (!status.ok()) co_return status;
  watermark_ = std::max(watermark_, notice.watermark);
  records_.Told(notice);
  queue_.KeysPublished(keys);
  co_return status;
}

Task<absl::Status> JobVariables::MoveWatermark(uint64_t watermark,
                                               Cancellation* cancellation) {
  if (!any()) co_return absl::OkStatus();
  // It is tried again; nobody waits here for a request that may wait long.
  if (telling_) co_return absl::OkStatus();
  AccountKeys();
  RecordKeeper::Notice notice = records_.Next(watermark);
  // A step that must run again may be below the servers' watermark.
  notice.watermark = std::max(notice.watermark, watermark_);
  if (notice.record.empty() && notice.watermark <= watermark_) {
    co_return absl::OkStatus();
  }
  // It is tried again, and the caller has other things to look after.
  UpdateOptions options;
  options.timeout = std::chrono::seconds(1);
  options.cancellation = cancellation;
  co_return co_await Tell(std::move(notice), options);
}

Task<absl::Status> JobVariables::Publish(Cancellation* cancellation) {
  if (!any()) co_return absl::OkStatus();
  AccountKeys();
  RecordKeeper::Notice notice = records_.Next(queue_.counts().watermark);
  notice.watermark = std::max(notice.watermark, watermark_);
  if (notice.record.empty() && notice.watermark <= watermark_) {
    co_return absl::OkStatus();
  }
  UpdateOptions options;
  if (cancellation != nullptr) options.timeout = kUntilLost;
  options.cancellation = cancellation;
  co_return co_await Tell(std::move(notice), options);
}

}  // namespace capstan
