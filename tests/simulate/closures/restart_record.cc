#include "simulate/closures/restart_record.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "simulate/closures/closure_call.h"

namespace capstan::simulate {

std::string EncodeRestartRecord(const RestartRecord& record) {
  return absl::StrCat(record.next, " ", record.base, " ", record.sum);
}

absl::StatusOr<RestartRecord> DecodeRestartRecord(std::string_view text) {
  const std::vector<std::string> words = absl::StrSplit(std::string(text), ' ');
  RestartRecord record;
  if (words.size() != 3 || !absl::SimpleAtoi(words[0], &record.next) ||
      !absl::SimpleAtoi(words[1], &record.base) ||
      !absl::SimpleAtoi(words[2], &record.sum)) {
    return absl::DataLossError(
        absl::StrCat("\"", std::string(text), "\" is no record"));
  }
  return record;
}

uint64_t SumBefore(const ClosureJudge& judge, size_t next) {
  uint64_t sum = 0;
  for (size_t i = 0; i < next; ++i) sum += NumberIn(ResultOf(judge.call(i)));
  return sum;
}

bool JudgeReport(ClosureContext& context, size_t index,
                 const StoreReport& report, size_t closures) {
  if (report.record.empty()) return false;
  const absl::StatusOr<JobRecord> job = DecodeJobRecord(report.record);
  const auto wrong = [&](const std::string& what) {
    context.judge.Violation(absl::StrCat("server ", index, what));
    return false;
  };
  if (!job.ok()) return wrong(absl::StrCat(": ", Describe(job.status())));
  uint64_t& newest = context.newest_records[index];
  if (job->sequence < newest) {
    return wrong(
        absl::StrCat(" went back from record ", newest, " to ", job->sequence));
  }
  newest = job->sequence;
  const auto part = job->parts.find(kRestartKey);
  if (part == job->parts.end()) return false;
  const absl::StatusOr<RestartRecord> record =
      DecodeRestartRecord(part->second);
  if (!record.ok()) return wrong(absl::StrCat(": ", Describe(record.status())));
  if (record->sum != SumBefore(context.judge, record->next)) {
    return wrong(absl::StrCat(" has a record whose sum is not that of ",
                              record->next, " closures"));
  }
  const auto block = job->blocks.find(kRestartKey);
  if (block == job->blocks.end()) return record->next == closures;
  const uint64_t accounted =
      block->second.first + (record->next - record->base) - 1;
  if (report.watermark > accounted) {
    return wrong(absl::StrCat(" has the watermark ", report.watermark,
                              ", but its record accounts for steps up to ",
                              accounted));
  }
  return false;
}

}  // namespace capstan::simulate
