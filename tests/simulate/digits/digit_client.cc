#include "simulate/digits/digit_client.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulate/cluster.h"
#include "transport/peer_channel.h"

namespace capstan::simulate {
namespace {

Task<absl::Status> PullDigits(const DigitVariables& variables,
                              ParameterClient& client, const ReadPlan& plan,
                              DigitValues& values) {
  std::vector<PullItem> items;
  PullItem dense;
  dense.variable = variables.dense_id();
  dense.into = std::as_writable_bytes(std::span(values.dense));
  dense.have = &values.dense_have;
  items.push_back(dense);
  if (!plan.by_rows) {
    PullItem rows;
    rows.variable = variables.rows_id();
    rows.into = std::as_writable_bytes(std::span(values.rows));
    rows.have = &values.rows_have;
    items.push_back(rows);
  }
  if (plan.drift) {
    PullItem drift;
    drift.variable = variables.drift_id();
    drift.into = std::as_writable_bytes(std::span(values.drift));
    items.push_back(drift);
  }
  ReadOptions options;
  options.timeout = plan.timeout;
  options.round = plan.round;
  const std::span<PullItem> all(items);
  co_return co_await client.Pull(all, options);
}

// All rows, last first.
Task<absl::Status> GatherDigits(const DigitVariables& variables,
                                ParameterClient& client, const ReadPlan& plan,
                                DigitValues& values) {
  const size_t count = values.rows.size() / kRowColumns;
  std::vector<int64_t> ids(count);
  std::iota(ids.rbegin(), ids.rend(), int64_t{0});
  std::vector<float> rows(values.rows.size());
  GatherItem item;
  item.variable = variables.rows_id();
  item.ids = ids;
  item.into = std::as_writable_bytes(std::span(rows));
  ShardVersions versions;
  item.versions = &versions;
  ReadOptions options;
  options.timeout = plan.timeout;
  options.round = plan.round;
  const std::span<GatherItem> all(&item, 1);
  absl::Status status = co_await client.Gather(all, options);
  if (!status.ok()) co_return status;
  for (size_t i = 0; i < count; ++i) {
    std::copy_n(rows.begin() + static_cast<ptrdiff_t>(i * kRowColumns),
                kRowColumns,
                values.rows.begin() +
                    static_cast<ptrdiff_t>((count - 1 - i) * kRowColumns));
  }
  values.rows_have = std::move(versions);
  co_return absl::OkStatus();
}

}  // namespace

std::string DigitServerName(size_t index) {
  return absl::StrCat("server", index);
}
std::string DigitServerAddress(size_t index) {
  return absl::StrCat("sim:", DigitServerName(index), ":7000");
}

std::unique_ptr<ParameterClient> NewDigitClient(DigitContext& context,
                                                SimNode& node,
                                                const std::string& role,
                                                size_t index) {
  const Random random = node.NewRandom("channels");
  std::vector<std::unique_ptr<Channel>> channels;
  for (size_t i = 0; i < context.variables.shards(); ++i) {
    ChannelOptions options;
    options.self = HelloOf(node, role, index);
    options.address = DigitServerAddress(i);
    options.expected_task = absl::StrCat("ps/", i);
    options.connect_timeout = std::chrono::seconds(1);
    options.backoff.max = std::chrono::milliseconds(500);
    channels.push_back(NewPeerChannel(node.clock(), node.network(),
                                      node.logger(), random.Fork(i),
                                      node.executor(), std::move(options)));
  }
  BackoffOptions backoff;
  backoff.max = std::chrono::milliseconds(500);
  return std::make_unique<ParameterClient>(node.clock(), node.executor(),
                                           std::move(channels),
                                           node.NewRandom("client"), backoff);
}

Task<absl::Status> ReadDigits(DigitContext& context, ParameterClient& client,
                              ReadPlan plan, DigitValues& values) {
  DigitJudge& judge = context.judge;
  DigitJudge::View view = judge.OnReadBegin();
  absl::Status status =
      co_await PullDigits(context.variables, client, plan, values);
  if (!status.ok()) {
    judge.OnFailure(status);
    co_return status;
  }
  judge.OnRead(view, DigitVariable::kDense, values.dense_have.generation,
               plan.round, values.dense);
  if (plan.by_rows) {
    view = judge.OnReadBegin();
    status = co_await GatherDigits(context.variables, client, plan, values);
    if (!status.ok()) {
      judge.OnFailure(status);
      co_return status;
    }
  }
  judge.OnRead(view, DigitVariable::kRows, values.rows_have.generation,
               plan.round, values.rows);
  co_return absl::OkStatus();
}

Task<absl::StatusOr<UpdateResult>> SendUpdate(DigitContext& context,
                                              SimNode& node,
                                              ParameterClient& client,
                                              Assignment assignment,
                                              uint32_t push) {
  const DigitVariables& variables = context.variables;
  const size_t slot = assignment.first_slot + push;
  const DigitGradient gradient = variables.Gradient(slot);
  std::vector<DenseItem> dense(1);
  dense[0].variable = variables.dense_id();
  dense[0].values = std::as_bytes(std::span(gradient.dense));
  if (variables.has_drift()) {
    DenseItem& drift = dense.emplace_back();
    drift.variable = variables.drift_id();
    drift.values = std::as_bytes(std::span(gradient.drift));
  }
  // Every other update asks for the resulting values.
  DigitValues after;
  if (slot % 2 == 0) {
    after = variables.NewValues();
    dense[0].into = std::as_writable_bytes(std::span(after.dense));
    dense[0].now = &after.dense_have;
    if (variables.has_drift()) {
      dense[1].into = std::as_writable_bytes(std::span(after.drift));
    }
  }
  std::vector<RowsItem> rows(1);
  rows[0].variable = variables.rows_id();
  rows[0].ids = gradient.ids;
  rows[0].values = std::as_bytes(std::span(gradient.rows));
  UpdateId id;
  id.fence = assignment.fence;
  id.step = assignment.step;
  id.push = push;
  id.round = assignment.round;
  id.replica = assignment.replica;
  UpdateOptions options;
  options.timeout = context.options.timeout;
  context.world.trace().Add(node.clock().Now(), node.name(), "update", slot,
                            assignment.fence.term);
  const DigitJudge::View view = context.judge.OnReadBegin();
  context.judge.OnInvoke(assignment.fence, slot);
  const std::span<const DenseItem> dense_items(dense);
  const std::span<const RowsItem> row_items(rows);
  absl::StatusOr<UpdateResult> summary = co_await client.Update(
      id, Operation::kGradient, dense_items, row_items, options);
  if (summary.ok()) {
    context.world.trace().Add(node.clock().Now(), node.name(), "acknowledged",
                              slot, summary->applied);
    context.judge.OnAck(assignment.fence, slot, *summary);
    if (!after.dense.empty()) {
      context.judge.OnRead(view, DigitVariable::kDense,
                           after.dense_have.generation, /*round=*/0,
                           after.dense);
    }
  } else {
    context.judge.OnFailure(summary.status());
  }
  co_return summary;
}

}  // namespace capstan::simulate
