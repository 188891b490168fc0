#include "launch/status/store_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "launch/system/printable.h"

namespace capstan {
namespace {

std::string Megabytes(uint64_t bytes) {
  if (bytes == UINT64_MAX) return "no limit";
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

// How many updates were missed at the quantile `share`: "0", "1", "2-3", "4-7";
// "-" if none were counted.
std::string Staleness(const StalenessHistogram& counts, double share) {
  const uint64_t all =
      std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  if (all == 0) return "-";
  const auto wanted = static_cast<uint64_t>(share * static_cast<double>(all));
  uint64_t seen = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    seen += counts[i];
    if (seen <= wanted) continue;
    if (i < 2) return fmt::format("{}", i);
    const uint64_t low = uint64_t{1} << (i - 1);
    if (i + 1 == counts.size()) return fmt::format("{}+", low);
    return fmt::format("{}-{}", low, 2 * low - 1);
  }
  return "-";
}

VariableReport Sum(const std::vector<VariableReport>& variables) {
  VariableReport sum;
  for (const VariableReport& variable : variables) {
    sum.bytes += variable.bytes;
    sum.applied += variable.applied;
    sum.duplicates += variable.duplicates;
    sum.dropped += variable.dropped;
    sum.skipped += variable.skipped;
    sum.refused += variable.refused;
    for (size_t i = 0; i < sum.staleness.size(); ++i) {
      sum.staleness[i] += variable.staleness[i];
    }
  }
  return sum;
}

std::string Counts(const VariableReport& report) {
  return fmt::format(
      "{:>9} {:>10} {:>7} {:>7} {:>7} {:>9} {:>9}", report.applied,
      report.duplicates, report.dropped, report.skipped, report.refused,
      Staleness(report.staleness, 0.5), Staleness(report.staleness, 0.99));
}

std::string CountsHeader() {
  return fmt::format("{:>9} {:>10} {:>7} {:>7} {:>7} {:>9} {:>9}", "APPLIED",
                     "DUPLICATES", "DROPPED", "SKIPPED", "REFUSED", "STALE50",
                     "STALE99");
}

// The servers that the job continues without, according to those that hold its
// newest variables.
std::vector<std::string> LeftOut(const std::vector<ServerStore>& stores) {
  const StoreReport* newest = nullptr;
  for (const ServerStore& store : stores) {
    if (!store.report.ok() || store.report->map_version == 0) continue;
    const StoreReport& report = *store.report;
    if (newest == nullptr ||
        report.fence.generation > newest->fence.generation) {
      newest = &report;
    }
  }
  std::vector<std::string> tasks;
  if (newest == nullptr) return tasks;
  for (const uint32_t server : newest->left_out) {
    tasks.push_back(fmt::format("ps/{}", server));
  }
  return tasks;
}

}  // namespace

std::string StoresTable(const std::vector<ServerStore>& stores) {
  const bool any =
      std::any_of(stores.begin(), stores.end(), [](const ServerStore& store) {
        return store.report.ok() && !store.report->variables.empty();
      });
  if (!any) return "";
  std::string table = fmt::format("{:<8} {:>6} {:>12} {:>12} {}\n", "SERVER",
                                  "SHARDS", "USED", "OF", CountsHeader());
  const std::vector<std::string> left_out = LeftOut(stores);
  for (const ServerStore& store : stores) {
    if (std::count(left_out.begin(), left_out.end(), store.task) > 0) {
      table += fmt::format("{:<8} the job goes on without it\n", store.task);
      continue;
    }
    if (!store.report.ok()) {
      table +=
          fmt::format("{:<8} {}\n", store.task,
                      Printable(std::string(store.report.status().message())));
      continue;
    }
    const StoreReport& report = *store.report;
    table += fmt::format("{:<8} {:>6} {:>12} {:>12} {}\n", store.task,
                         report.variables.size(), Megabytes(report.bytes_used),
                         Megabytes(report.bytes_limit),
                         Counts(Sum(report.variables)));
  }
  return table;
}

std::string VariablesTable(const std::vector<ServerStore>& stores) {
  std::string table =
      fmt::format("{:<32} {:>5} {:<8} {:>12} {:>9} {}\n", "VARIABLE", "SHARD",
                  "SERVER", "BYTES", "VERSION", CountsHeader());
  for (const ServerStore& store : stores) {
    if (!store.report.ok()) continue;
    for (const VariableReport& variable : store.report->variables) {
      // The name comes from a peer.
      table += fmt::format("{:<32} {:>5} {:<8} {:>12} {:>9} {}\n",
                           Printable(variable.name), variable.shard, store.task,
                           variable.bytes, variable.version, Counts(variable));
    }
  }
  return table;
}

}  // namespace capstan
