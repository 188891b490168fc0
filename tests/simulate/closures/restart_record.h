// How far the program of a coordinator that is killed and started again is, as
// it leaves it with the servers; and what a server may have of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/job_record.h"
#include "simulate/closures/closure_context.h"
#include "wire/parameter.h"

namespace capstan::simulate {

// The part of the job's record that is the program's.
inline constexpr char kRestartKey[] = "program";

// A value.
struct RestartRecord {
  size_t next = 0;   // the first closure that is not accounted for
  size_t base = 0;   // the closure that has the first step of the block
  uint64_t sum = 0;  // of the results of those before `next`
};

std::string EncodeRestartRecord(const RestartRecord& record);
// DataLoss if it is none.
absl::StatusOr<RestartRecord> DecodeRestartRecord(std::string_view text);

// The sum of the results of the closures before `next`.
uint64_t SumBefore(const ClosureJudge& judge, size_t next);

// Judges what server `index` says of itself: its record has the result of each
// closure once, it never goes back to an older one, and its watermark has not
// passed what the record accounts for. Reports of a server come in the order in
// which it made them. True if it has all of `closures`, and no block is open.
bool JudgeReport(ClosureContext& context, size_t index,
                 const StoreReport& report, size_t closures);

}  // namespace capstan::simulate
