#include "simulate/workload.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "simulate/closures/closures.h"
#include "simulate/digits/exact_digits.h"
#include "simulate/logs/durable_log.h"
#include "simulate/requests/request_reply.h"

namespace capstan::simulate {
namespace {

constexpr size_t kKeptViolations = 10;

constexpr std::array<std::pair<Plant, std::string_view>, 25> kPlants = {{
    {Plant::kNone, ""},
    {Plant::kWrongReply, "wrong_reply"},
    {Plant::kCorruptBytes, "corrupt_bytes"},
    {Plant::kRepeatedRequest, "repeated_request"},
    {Plant::kLateEnd, "late_end"},
    {Plant::kLateWrite, "late_write"},
    {Plant::kDeafServer, "deaf_server"},
    {Plant::kLostSync, "lost_sync"},
    {Plant::kLostName, "lost_name"},
    {Plant::kNoDedup, "no_dedup"},
    {Plant::kDedupByWorker, "dedup_by_worker"},
    {Plant::kAckInFlight, "ack_in_flight"},
    {Plant::kEarlyWatermark, "early_watermark"},
    {Plant::kNoFence, "no_fence"},
    {Plant::kStalePull, "stale_pull"},
    {Plant::kPartialCommit, "partial_commit"},
    {Plant::kRetryNewStep, "retry_new_step"},
    {Plant::kLostClosure, "lost_closure"},
    {Plant::kStaleSession, "stale_session"},
    {Plant::kResultSwap, "result_swap"},
    {Plant::kFarRecord, "far_record"},
    {Plant::kLateBlock, "late_block"},
    {Plant::kNewNumbers, "new_numbers"},
    {Plant::kLostRecord, "lost_record"},
    {Plant::kUnsettled, "unsettled"},
}};

}  // namespace

std::vector<Plant> AllPlants() {
  std::vector<Plant> plants;
  for (const auto& [plant, name] : kPlants) {
    if (plant != Plant::kNone) plants.push_back(plant);
  }
  return plants;
}

std::string_view PlantName(Plant plant) {
  for (const auto& [known, name] : kPlants) {
    if (known == plant) return name;
  }
  return "";
}

absl::StatusOr<Plant> ParsePlant(std::string_view name) {
  std::string all;
  for (const auto& [plant, known] : kPlants) {
    if (known == name) return plant;
    absl::StrAppend(&all, all.empty() ? "" : ", ", std::string(known));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no planted bug \"", std::string(name), "\"; there are ", all));
}

bool PlantConcerns(Plant plant, std::string_view workload) {
  switch (plant) {
    case Plant::kNone:
      return true;
    case Plant::kLostSync:
    case Plant::kLostName:
      return workload == "durable_log";
    case Plant::kNoDedup:
    case Plant::kDedupByWorker:
    case Plant::kEarlyWatermark:
    case Plant::kPartialCommit:
      return workload == "exact_digits" || workload == "closures";
    case Plant::kAckInFlight:
    case Plant::kNoFence:
    case Plant::kStalePull:
      return workload == "exact_digits";
    case Plant::kRetryNewStep:
    case Plant::kLostClosure:
    case Plant::kStaleSession:
    case Plant::kResultSwap:
    case Plant::kFarRecord:
    case Plant::kLateBlock:
    case Plant::kNewNumbers:
    case Plant::kLostRecord:
    case Plant::kUnsettled:
      return workload == "closures";
    default:
      return workload == "request_reply";
  }
}

void Violations::Add(MonotonicTime time, std::string_view what) {
  ++count_;
  if (texts_.size() >= kKeptViolations) return;
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(
          time.time_since_epoch());
  texts_.push_back(
      absl::StrCat("at ", milliseconds.count(), " ms: ", std::string(what)));
}

absl::StatusOr<std::unique_ptr<Workload>> NewWorkload(const Scenario& scenario,
                                                      uint64_t seed,
                                                      Plant plant) {
  if (scenario.workload == "request_reply") {
    return NewRequestReply(scenario, seed, plant);
  }
  if (scenario.workload == "durable_log") {
    return NewDurableLog(scenario, seed, plant);
  }
  if (scenario.workload == "exact_digits") {
    return NewExactDigits(scenario, seed, plant);
  }
  if (scenario.workload == "closures") {
    return NewClosures(scenario, seed, plant);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      scenario.path, ": there is no workload \"", scenario.workload,
      "\"; there are request_reply, durable_log, exact_digits and closures"));
}

}  // namespace capstan::simulate
