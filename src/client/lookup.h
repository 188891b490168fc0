// Embedding lookups: rows of a table, one by one or combined. Each row is asked
// for once, of the server that has it, in one request for each server.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/async/task.h"
#include "base/status.h"
#include "capstan/tensor.h"
#include "client/parameter_client.h"

namespace capstan {

// Row ids[i] of the variable as row i of the result. Errors: InvalidArgument
// for a scalar, which has no rows; those of ParameterClient::Spec and Gather.
// Here and below `client` must outlive the task.
Task<absl::StatusOr<Tensor>> LookupRows(ParameterClient& client,
                                        uint32_t variable,
                                        std::vector<int64_t> ids,
                                        ReadOptions options = {});

// Lists of ids, one for each row of the result: list i is the ids from
// splits[i] up to splits[i + 1].
struct IdLists {
  std::vector<int64_t> ids = {};
  std::vector<int64_t> splits = {0};
  std::vector<float> weights = {};  // of the ids; empty: 1 each
};

// The splits of `lists` lists, of which the i-th id belongs to segments[i].
// InvalidArgument unless the segments ascend and are in [0, lists).
absl::StatusOr<std::vector<int64_t>> SplitsOf(std::span<const int64_t> segments,
                                              int64_t lists);

// What becomes of the rows e of a list with the weights w.
enum class Combiner : uint8_t {
  kSum,    // sum(w e)
  kMean,   // sum(w e) / sum(w)
  kSqrtN,  // sum(w e) / sqrt(sum(w^2))
};

// Each list combined into one row of f32. A list without ids, or whose divisor
// is 0, gives zeroes. The variable must be f32, f16 or bf16. Errors as above,
// and InvalidArgument for splits or weights that do not fit the ids.
Task<absl::StatusOr<Tensor>> LookupSparse(ParameterClient& client,
                                          uint32_t variable, IdLists lists,
                                          Combiner combiner,
                                          ReadOptions options = {});

// The same without the ids that are negative and those whose weight is not
// above 0.
Task<absl::StatusOr<Tensor>> SafeLookupSparse(ParameterClient& client,
                                              uint32_t variable, IdLists lists,
                                              Combiner combiner,
                                              ReadOptions options = {});

}  // namespace capstan
