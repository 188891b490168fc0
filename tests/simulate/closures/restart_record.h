// How far the program of a restarted coordinator has progressed, as it stores
// that on the servers; and what a server may have of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/job_record.h"
#include "simulate/closures/closure_context.h"
#include "wire/parameter.h"

namespace capstan::simulate {

// The program's part of the job's record.
inline constexpr char kRestartKey[] = "program";

// A value.
struct RestartRecord {
  size_t next = 0;   // the first closure not accounted for
  size_t base = 0;   // the closure that has the block's first step
  uint64_t sum = 0;  // of the results of the closures before `next`
};

std::string EncodeRestartRecord(const RestartRecord& record);
// DataLoss if `text` is not a record.
absl::StatusOr<RestartRecord> DecodeRestartRecord(std::string_view text);

// The sum of the results of the closures before `next`.
uint64_t SumBefore(const ClosureJudge& judge, size_t next);

// Judges a report of server `index`: its record has the result of each closure
// once, it never returns to an older record, and its watermark has not passed
// what the record accounts for. A server's reports must be given in the order
// in which it made them. True if it has all of `closures`, and no block is
// open.
bool JudgeReport(ClosureContext& context, size_t index,
                 const StoreReport& report, size_t closures);

}  // namespace capstan::simulate
