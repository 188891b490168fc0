// What a step does with memory that its function owns: nothing is copied
// between that memory and the sockets.
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/step.h"
#include "worker/wait.h"

namespace capstan {
namespace {

// InvalidArgument if the memory of a copy does not match its variable.
absl::Status CheckLike(const VariableEntry& entry, const TensorView& memory) {
  const VariableSpec& spec = entry.spec;
  if (memory.dtype() == spec.dtype && memory.shape() == spec.shape) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "variable '", spec.name, "' is ", std::string(NameOf(spec.dtype)),
      spec.shape.ToString(), ", and its copy is ",
      std::string(NameOf(memory.dtype())), memory.shape().ToString()));
}

std::vector<std::string> NamesOf(
    const std::vector<VariableCopy::State*>& copies) {
  std::vector<std::string> names;
  names.reserve(copies.size());
  for (const VariableCopy::State* copy : copies) {
    names.push_back(copy->variable);
  }
  return names;
}

std::string Quoted(const std::string& what,
                   const std::vector<std::string>& names) {
  if (names.empty()) return what;
  return absl::StrCat(
      what, " '", names.front(), "'",
      names.size() > 1 ? absl::StrCat(" and ", names.size() - 1, " more") : "");
}

}  // namespace

Task<absl::StatusOr<std::vector<uint32_t>>> Step::FindCopies(
    std::vector<VariableCopy::State*> copies) {
  const absl::Status prepared = co_await Prepare();
  if (!prepared.ok()) co_return prepared;
  const ReadOptions options = Reading();
  std::vector<std::string> names = NamesOf(copies);
  absl::StatusOr<std::vector<uint32_t>> ids =
      co_await FindByName(client_, std::move(names), options);
  if (!ids.ok()) co_return ids;
  for (size_t i = 0; i < copies.size(); ++i) {
    const VariableEntry* entry = client_.map()->Find((*ids)[i]);
    CAPSTAN_CO_RETURN_IF_ERROR(CheckLike(*entry, copies[i]->memory));
  }
  co_return ids;
}

Task<absl::Status> Step::Pull(std::vector<VariableCopy::State*> copies) {
  const Wait wait(*this, Quoted("a pull of", NamesOf(copies)));
  std::vector<VariableCopy::State*> wanted = copies;
  const absl::StatusOr<std::vector<uint32_t>> ids =
      co_await FindCopies(std::move(wanted));
  if (!ids.ok()) co_return ids.status();
  std::vector<PullItem> items(copies.size());
  for (size_t i = 0; i < copies.size(); ++i) {
    items[i].variable = (*ids)[i];
    items[i].into = copies[i]->memory.mutable_bytes();
    items[i].have = &copies[i]->Of((*ids)[i]);
  }
  const std::span<PullItem> view(items);
  const ReadOptions options = Reading();
  co_return co_await client_.Pull(view, options);
}

Task<absl::Status> Step::ReadRowsInto(std::string variable,
                                      std::span<const int64_t> ids,
                                      MutableTensorView into) {
  const Wait wait(*this, absl::StrCat("rows of '", variable, "'"));
  const absl::Status prepared = co_await Prepare();
  if (!prepared.ok()) co_return prepared;
  const ReadOptions options = Reading();
  std::vector<std::string> names(1, std::move(variable));
  const absl::StatusOr<std::vector<uint32_t>> found =
      co_await FindByName(client_, std::move(names), options);
  if (!found.ok()) co_return found.status();
  std::vector<GatherItem> items(1);
  items[0].variable = found->front();
  items[0].ids = ids;
  items[0].into = into.mutable_bytes();
  items[0].versions = &seen_[found->front()];
  const std::span<GatherItem> view(items);
  co_return co_await client_.Gather(view, options);
}

Task<absl::Status> Step::Push(uint32_t number, Operation operation,
                              std::vector<Operand> operands,
                              std::vector<RowGradient> rows, bool refresh) {
  std::vector<VariableCopy::State*> copies;
  copies.reserve(operands.size());
  for (const Operand& operand : operands) copies.push_back(operand.copy);
  std::vector<std::string> row_names;
  row_names.reserve(rows.size());
  for (const RowGradient& row : rows) row_names.push_back(row.variable);
  std::vector<std::string> names = NamesOf(copies);
  names.insert(names.end(), row_names.begin(), row_names.end());
  CAPSTAN_CO_RETURN_IF_ERROR(CheckUpdates(names.empty() ? "" : names.front()));
  const Wait wait(*this, Quoted("an update of", names));
  const absl::StatusOr<std::vector<uint32_t>> ids =
      co_await FindCopies(std::move(copies));
  if (!ids.ok()) co_return ids.status();
  const ReadOptions reading = Reading();
  const absl::StatusOr<std::vector<uint32_t>> row_ids =
      co_await FindByName(client_, std::move(row_names), reading);
  if (!row_ids.ok()) co_return row_ids.status();
  std::vector<DenseItem> items(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    VariableCopy::State& copy = *operands[i].copy;
    ShardVersions& versions = copy.Of((*ids)[i]);
    items[i].variable = (*ids)[i];
    items[i].dtype = operands[i].values.dtype();
    items[i].values = operands[i].values.bytes();
    items[i].based_on = &versions;
    if (!refresh) continue;
    items[i].into = copy.memory.mutable_bytes();
    items[i].now = &versions;
  }
  std::vector<RowsItem> row_items(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    row_items[i].variable = (*row_ids)[i];
    row_items[i].ids = rows[i].ids;
    row_items[i].dtype = rows[i].gradient.dtype();
    row_items[i].values = rows[i].gradient.bytes();
    const auto seen = seen_.find((*row_ids)[i]);
    if (seen != seen_.end()) row_items[i].based_on = &seen->second;
  }
  UpdateId id = id_;
  id.push = number;
  UpdateOptions options;
  options.cancellation = &cancellation_;
  const std::span<const DenseItem> dense_view(items);
  const std::span<const RowsItem> rows_view(row_items);
  const absl::StatusOr<UpdateResult> result =
      co_await client_.Update(id, operation, dense_view, rows_view, options);
  co_return result.status();
}

Task<absl::Status> Step::FindGlobalClip(std::span<const std::string> variables,
                                        bool& found) {
  const absl::Status prepared = co_await Prepare();
  if (!prepared.ok()) co_return prepared;
  const ReadOptions options = Reading();
  std::vector<std::string> names(variables.begin(), variables.end());
  const absl::StatusOr<std::vector<uint32_t>> ids =
      co_await FindByName(client_, std::move(names), options);
  if (!ids.ok()) co_return ids.status();
  found = false;
  for (const uint32_t id : *ids) {
    const std::optional<Optimizer>& optimizer =
        client_.map()->Find(id)->spec.optimizer;
    found |= optimizer && optimizer->global_clip_norm > 0;
  }
  co_return absl::OkStatus();
}

}  // namespace capstan
