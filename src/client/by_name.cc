#include "client/by_name.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/lookup.h"

namespace capstan {
namespace {

absl::StatusOr<std::vector<uint32_t>> FindAll(
    const ParameterClient& client, const std::vector<std::string>& names) {
  std::vector<uint32_t> ids;
  for (const std::string& name : names) {
    const absl::StatusOr<const VariableEntry*> entry = client.Find(name);
    if (!entry.ok()) return entry.status();
    ids.push_back((*entry)->id);
  }
  return ids;
}

// Whether a call failed because its variables had been dropped, and others of
// the same names exist now.
bool MadeAnew(const ParameterClient& client,
              const std::vector<std::string>& names,
              const std::vector<uint32_t>& ids, const absl::Status& status) {
  if (!absl::IsNotFound(status)) return false;
  const absl::StatusOr<std::vector<uint32_t>> now = FindAll(client, names);
  return now.ok() && *now != ids;
}

absl::StatusOr<Tensor> NewTensor(DType dtype, const Shape& shape) {
  try {
    return Tensor::Uninitialized(dtype, shape);
  } catch (...) {
    return StatusOfCurrentException();
  }
}

absl::Status CheckIds(const std::string& name, const Tensor& ids) {
  if (ids.dtype() == DType::kI64 && ids.shape().rank() == 1) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "rows of '", name, "': ids of type ", std::string(NameOf(ids.dtype())),
      " and shape ", ids.shape().ToString(), "; they must be i64 of rank 1"));
}

// The shape that the values of an update must have: the variable's, with as
// many rows as there are ids.
absl::Status CheckShape(const VariableUpdate& update, const Shape& variable) {
  const Shape& given = update.values.shape();
  bool fits = given.rank() == variable.rank();
  for (int axis = 0; fits && axis < given.rank(); ++axis) {
    const bool rows = axis == 0 && update.ids;
    const int64_t wanted =
        rows ? update.ids->shape().num_elements() : variable[axis];
    fits = given[axis] == wanted;
  }
  if (update.ids && variable.rank() == 0) fits = false;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "an update of '", update.variable, "' with values of shape ",
      given.ToString(),
      update.ids
          ? absl::StrCat(" for ", update.ids->shape().num_elements(), " rows")
          : "",
      "; the variable has shape ", variable.ToString()));
}

struct Items {
  std::vector<DenseItem> dense;
  std::vector<RowsItem> rows;
};

absl::StatusOr<Items> ItemsOf(const ParameterClient& client,
                              const std::vector<uint32_t>& ids,
                              const std::vector<VariableUpdate>& updates,
                              const SeenVersions* seen) {
  const auto seen_of = [seen](uint32_t id) -> const ShardVersions* {
    if (seen == nullptr) return nullptr;
    const auto found = seen->find(id);
    return found == seen->end() ? nullptr : &found->second;
  };
  Items items;
  for (size_t i = 0; i < updates.size(); ++i) {
    const VariableUpdate& update = updates[i];
    const VariableEntry* entry = client.map()->Find(ids[i]);
    if (entry == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("variable '", update.variable, "' has been dropped"));
    }
    if (update.ids) {
      CAPSTAN_RETURN_IF_ERROR(CheckIds(update.variable, *update.ids));
    }
    CAPSTAN_RETURN_IF_ERROR(CheckShape(update, entry->spec.shape));
    if (update.ids) {
      RowsItem& item = items.rows.emplace_back();
      item.variable = ids[i];
      item.ids = update.ids->Values<int64_t>();
      item.dtype = update.values.dtype();
      item.values = update.values.view().bytes();
      item.based_on = seen_of(ids[i]);
    } else {
      DenseItem& item = items.dense.emplace_back();
      item.variable = ids[i];
      item.dtype = update.values.dtype();
      item.values = update.values.view().bytes();
      item.based_on = seen_of(ids[i]);
    }
  }
  return items;
}

}  // namespace

Task<absl::StatusOr<std::vector<uint32_t>>> FindByName(
    ParameterClient& client, std::vector<std::string> names,
    ReadOptions options) {
  absl::StatusOr<std::vector<uint32_t>> ids = FindAll(client, names);
  if (ids.ok()) co_return ids;
  // It may have been created in the meantime.
  const Duration timeout = std::min(options.timeout, options.limit);
  const absl::Status refreshed =
      co_await client.Refresh(timeout, options.cancellation);
  if (!refreshed.ok()) co_return refreshed;
  co_return FindAll(client, names);
}

Task<absl::StatusOr<std::vector<Tensor>>> ReadByName(
    ParameterClient& client, std::vector<std::string> names,
    ReadOptions options, SeenVersions* seen) {
  while (true) {
    std::vector<std::string> wanted = names;
    const absl::StatusOr<std::vector<uint32_t>> ids =
        co_await FindByName(client, std::move(wanted), options);
    if (!ids.ok()) co_return ids.status();
    std::vector<Tensor> tensors;
    std::vector<PullItem> items;
    // Empty: the memory holds nothing yet, so everything is pulled.
    std::vector<ShardVersions> versions(ids->size());
    for (const uint32_t id : *ids) {
      const VariableEntry* entry = client.map()->Find(id);
      absl::StatusOr<Tensor> tensor =
          NewTensor(entry->spec.dtype, entry->spec.shape);
      if (!tensor.ok()) co_return tensor.status();
      tensors.push_back(*std::move(tensor));
      PullItem& item = items.emplace_back();
      item.variable = id;
      item.into = tensors.back().mutable_view().mutable_bytes();
      item.have = &versions[items.size() - 1];
    }
    const std::span<PullItem> view(items);
    const absl::Status status = co_await client.Pull(view, options);
    if (MadeAnew(client, names, *ids, status)) continue;
    if (!status.ok()) co_return status;
    for (size_t i = 0; seen != nullptr && i < versions.size(); ++i) {
      seen->insert_or_assign((*ids)[i], std::move(versions[i]));
    }
    co_return tensors;
  }
}

Task<absl::StatusOr<Tensor>> ReadRowsByName(ParameterClient& client,
                                            std::string name,
                                            std::vector<int64_t> ids,
                                            ReadOptions options) {
  const std::vector<std::string> names(1, std::move(name));
  while (true) {
    std::vector<std::string> wanted = names;
    const absl::StatusOr<std::vector<uint32_t>> found =
        co_await FindByName(client, std::move(wanted), options);
    if (!found.ok()) co_return found.status();
    const uint32_t variable = found->front();
    std::vector<int64_t> rows = ids;
    absl::StatusOr<Tensor> values =
        co_await LookupRows(client, variable, std::move(rows), options);
    if (!MadeAnew(client, names, *found, values.status())) co_return values;
  }
}

Task<absl::StatusOr<UpdateResult>> UpdateByName(
    ParameterClient& client, UpdateId id, Operation operation,
    std::vector<VariableUpdate> updates, UpdateOptions options,
    const SeenVersions* seen) {
  std::vector<std::string> names;
  for (const VariableUpdate& update : updates) {
    names.push_back(update.variable);
  }
  ReadOptions reading;
  reading.timeout = options.timeout;
  reading.limit = options.limit;
  reading.cancellation = options.cancellation;
  while (true) {
    std::vector<std::string> wanted = names;
    const absl::StatusOr<std::vector<uint32_t>> ids =
        co_await FindByName(client, std::move(wanted), reading);
    if (!ids.ok()) co_return ids.status();
    const absl::StatusOr<Items> items = ItemsOf(client, *ids, updates, seen);
    if (!items.ok()) co_return items.status();
    const std::span<const DenseItem> dense(items->dense);
    const std::span<const RowsItem> rows(items->rows);
    // A retry uses the same id, so what was applied already is not applied
    // twice.
    absl::StatusOr<UpdateResult> result =
        co_await client.Update(id, operation, dense, rows, options);
    if (!MadeAnew(client, names, *ids, result.status())) co_return result;
  }
}

}  // namespace capstan
