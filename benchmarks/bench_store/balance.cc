#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench_store/experiments.h"
#include "variable/shard_map.h"

namespace capstan {

absl::Status MeasureBalance(Report& report) {
  constexpr uint32_t kServers = 4;
  std::vector<VariableSpec> specs(51);
  for (size_t i = 0; i < specs.size(); ++i) {
    specs[i].name = absl::StrCat("v", i);
    // One of 100 MB, and small ones of 4 to 200 KB.
    specs[i].shape = {i == 0 ? 25'000'000 : static_cast<int64_t>(i) * 1'000};
  }
  const absl::StatusOr<ShardMap> empty = ShardMap::Make(1, 0, kServers, {});
  if (!empty.ok()) return empty.status();
  const absl::StatusOr<ShardMap> map =
      AddVariables(*empty, specs, DefaultPartitioner(kServers));
  if (!map.ok()) return map.status();
  const std::vector<uint64_t> bytes = BytesPerServer(*map);
  const auto sum = std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
  const double mean = static_cast<double>(sum) / kServers;
  const double most =
      static_cast<double>(*std::max_element(bytes.begin(), bytes.end()));
  report.Set("balance_max_over_mean", most / mean);
  report.PrintHeader("placement", "Capstan");
  report.PrintRow("busiest server / mean, in bytes", "", most / mean);
  return absl::OkStatus();
}

}  // namespace capstan
