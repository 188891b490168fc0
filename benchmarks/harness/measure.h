// Times two contenders side by side.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "harness/exchange.h"
#include "harness/report.h"

namespace capstan {

// Runs every exchange of the table in measure.cc on both, `rounds` times, one
// right after the other and alternating who is first. Reports under `prefix`
// ("tcp") the median of ours, of the bare reference, and of the ratios of
// neighbouring runs, which a busy machine disturbs least.
//   rtt_4k_us    bare_rtt_4k_us    rtt_4k_ratio         8, 4k
//   gbps_1m      bare_gbps_1m      gbps_1m_ratio        pull: 64k, 1m, 64m
//   push_gbps_1m bare_push_gbps_1m push_gbps_1m_ratio   push: the same
// All ratios are ours / bare: of times for round trips (1 is the limit, less is
// better), of GB/s for the others (more is better).
absl::Status MeasureExchanges(const std::string& prefix, Contender& ours,
                              Contender& bare, int rounds, Report& report);

}  // namespace capstan
