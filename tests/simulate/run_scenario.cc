#include "simulate/run_scenario.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace capstan::simulate {
namespace {

// With fewer seeds, a kind of fault may by chance never happen.
constexpr uint64_t kSeedsForEveryFault = 50;
// A seed may prove nothing; a scenario with a larger share of such seeds is
// wrong.
constexpr double kMaxVoid = 0.05;

// Hands out seeds to threads and collects the results.
class Gatherer {
 public:
  Gatherer(const Scenario& scenario, const RunOptions& options)
      : scenario_(scenario), options_(options), results_(options.seeds) {}

  // The work of one thread.
  void Work() {
    while (!stop_) {
      const uint64_t index = next_++;
      if (index >= options_.seeds) return;
      RunOne(index);
    }
  }

  absl::StatusOr<ScenarioSummary> Summarize();

 private:
  void RunOne(uint64_t index) {
    const uint64_t seed = options_.first_seed + index;
    absl::StatusOr<SeedResult> result =
        RunSeed(scenario_, seed, options_.plant, nullptr);
    const bool repeat =
        options_.repeat_every > 0 && index % options_.repeat_every == 0;
    if (result.ok() && repeat) {
      const absl::StatusOr<SeedResult> again =
          RunSeed(scenario_, seed, options_.plant, nullptr);
      if (again->digest != result->digest) {
        ++result->violation_count;
        result->violations.push_back(
            "the same seed gave another trace when it was run again");
      }
    }
    const std::lock_guard lock(mutex_);
    if (!result.ok()) {
      error_ = result.status();
      stop_ = true;
      return;
    }
    if (result->violation_count > 0 && ++failed_ >= options_.max_failures) {
      stop_ = true;
    }
    results_[index] = *std::move(result);
  }

  void Complain(ScenarioSummary& summary) const;

  const Scenario& scenario_;
  const RunOptions& options_;
  std::atomic<uint64_t> next_ = 0;
  std::atomic<bool> stop_ = false;

  std::mutex mutex_;
  // Guarded by mutex_.
  uint64_t failed_ = 0;
  absl::Status error_;
  std::vector<std::optional<SeedResult>> results_;
};

void Add(const SeedResult& result, ScenarioSummary& summary) {
  ++summary.seeds;
  summary.steps += result.steps;
  summary.tally.requests += result.tally.requests;
  summary.tally.replies += result.tally.replies;
  summary.tally.retries += result.tally.retries;
  summary.tally.cancelled += result.tally.cancelled;
  summary.tally.late += result.tally.late;
  summary.tally.lost += result.tally.lost;
  for (size_t i = 0; i < result.faults.size(); ++i) {
    summary.faults[i] += result.faults[i];
  }
  summary.violations += result.violation_count;
  if (result.violation_count > 0) {
    summary.failures.push_back(result);
  } else if (!result.void_because.empty()) {
    ++summary.voided;
  }
}

absl::StatusOr<ScenarioSummary> Gatherer::Summarize() {
  if (!error_.ok()) return error_;
  ScenarioSummary summary;
  Hasher hasher;
  for (uint64_t i = 0; i < results_.size(); ++i) {
    // After an early stop, whether the seeds after a gap ran is a matter of
    // timing.
    if (!results_[i]) break;
    Add(*results_[i], summary);
    if (i == 0) summary.remark = results_[i]->remark;
    hasher.Add(results_[i]->digest);
    if (options_.repeat_every > 0 && i % options_.repeat_every == 0) {
      ++summary.repeated;
    }
  }
  summary.digest = hasher.Digest();
  Complain(summary);
  return summary;
}

void Gatherer::Complain(ScenarioSummary& summary) const {
  if (!summary.failures.empty()) return;
  if (static_cast<double>(summary.voided) >
      kMaxVoid * static_cast<double>(summary.seeds)) {
    summary.complaints.push_back(
        absl::StrCat(summary.voided, " of ", summary.seeds,
                     " seeds prove nothing: no fault, or no answer"));
  }
  if (summary.seeds < kSeedsForEveryFault) return;
  for (const FaultSpec& fault : scenario_.faults) {
    if (summary.faults[static_cast<size_t>(fault.kind)] > 0) continue;
    summary.complaints.push_back(
        absl::StrCat("the fault ", std::string(FaultKindName(fault.kind)),
                     " never happened"));
  }
}

}  // namespace

absl::StatusOr<ScenarioSummary> RunScenario(const Scenario& scenario,
                                            const RunOptions& options) {
  Gatherer gatherer(scenario, options);
  std::vector<std::thread> threads;
  for (int i = 1; i < options.jobs; ++i) {
    threads.emplace_back([&gatherer] { gatherer.Work(); });
  }
  gatherer.Work();
  for (std::thread& thread : threads) thread.join();
  return gatherer.Summarize();
}

}  // namespace capstan::simulate
