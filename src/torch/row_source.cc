#include "torch/row_source.h"

#include <chrono>
#include <utility>

#include "capstan/error.h"
#include "torch/dtype.h"

namespace capstan {

void RowSource::Add(EmbeddingImpl* embedding, std::string variable) {
  tables_.push_back({.embedding = embedding, .variable = std::move(variable)});
  embedding->Attach(this);
}

RowSource::Table& RowSource::TableOf(const EmbeddingImpl& embedding) {
  for (Table& table : tables_) {
    if (table.embedding == &embedding) return table;
  }
  throw Error(ErrorCode::kInternal, "an Embedding of another model");
}

void RowSource::Begin(WorkerContext& worker, bool train) {
  worker_ = &worker;
  train_ = train;
}

torch::Tensor RowSource::Read(const EmbeddingImpl& embedding,
                              const torch::Tensor& ids) {
  if (worker_ == nullptr) {
    throw Error(ErrorCode::kFailedPrecondition,
                "the rows of an Embedding are on the servers: forward can be "
                "called in a step only");
  }
  Table& table = TableOf(embedding);
  Lookup lookup;
  lookup.ids = ids.to(torch::kInt64).contiguous().reshape({-1});
  lookup.rows = torch::empty({lookup.ids.numel(), embedding.dim()});
  const auto start = std::chrono::steady_clock::now();
  const std::span<const int64_t> wanted(
      lookup.ids.data_ptr<int64_t>(), static_cast<size_t>(lookup.ids.numel()));
  worker_->StartReadRows(table.variable, wanted, ViewOf(lookup.rows)).Wait();
  read_ns_ += (std::chrono::steady_clock::now() - start).count();
  if (!train_ || !torch::GradMode::is_enabled()) return lookup.rows;
  lookup.rows.requires_grad_(true);
  const torch::Tensor rows = lookup.rows;
  const size_t index = table.lookups.size();
  rows.register_hook([this, &table, index](const torch::Tensor& gradient) {
    table.lookups[index].gradient = gradient;
    if (--table.missing == 0 && !hold_) Send(table);
  });
  table.lookups.push_back(std::move(lookup));
  return rows;
}

uint32_t RowSource::num_updates() const {
  return static_cast<uint32_t>(tables_.size());
}

void RowSource::ExpectGradients(uint32_t first, bool hold) {
  hold_ = hold;
  // Number all tables, whether they are used or not: a step that is rerun must
  // get the same numbers.
  for (Table& table : tables_) {
    table.number = first++;
    table.missing = table.lookups.size();
  }
}

void RowSource::DropUnused(Table& table) {
  std::erase_if(table.lookups, [](const Lookup& lookup) {
    return !lookup.gradient.defined();
  });
}

RowGradient RowSource::Combine(Table& table) {
  const torch::NoGradGuard no_gradients;
  if (table.lookups.size() == 1) {
    table.ids = table.lookups[0].ids;
    table.gradient = table.lookups[0].gradient.contiguous();
  } else {
    std::vector<torch::Tensor> ids;
    std::vector<torch::Tensor> gradients;
    for (const Lookup& lookup : table.lookups) {
      ids.push_back(lookup.ids);
      gradients.push_back(lookup.gradient);
    }
    table.ids = torch::cat(ids);
    table.gradient = torch::cat(gradients).contiguous();
  }
  const std::span<const int64_t> rows(table.ids.data_ptr<int64_t>(),
                                      static_cast<size_t>(table.ids.numel()));
  return {.variable = table.variable,
          .ids = rows,
          .gradient = ViewOf(table.gradient)};
}

void RowSource::Send(Table& table) {
  const RowGradient gradient = Combine(table);
  table.update =
      worker_->StartGradients(table.number, {}, std::span(&gradient, 1), false);
}

void RowSource::Flush() {
  for (Table& table : tables_) {
    DropUnused(table);
    if (table.missing > 0 && !table.lookups.empty()) Send(table);
    table.lookups.clear();
    table.missing = 0;
  }
}

std::vector<RowGradient> RowSource::TakeAll() {
  std::vector<RowGradient> gradients;
  for (Table& table : tables_) {
    DropUnused(table);
    if (!table.lookups.empty()) gradients.push_back(Combine(table));
    table.lookups.clear();
    table.missing = 0;
  }
  return gradients;
}

void RowSource::Finish() {
  for (Table& table : tables_) {
    table.update.Wait();
    table.ids.reset();
    table.gradient.reset();
  }
}

void RowSource::Abandon() noexcept {
  for (Table& table : tables_) {
    table.update = PendingCall();
    table.lookups.clear();
    table.missing = 0;
    table.ids.reset();
    table.gradient.reset();
  }
  worker_ = nullptr;
}

int64_t RowSource::TakeReadNs() { return std::exchange(read_ns_, 0); }

}  // namespace capstan
