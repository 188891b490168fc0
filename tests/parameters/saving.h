// Short ways to save and restore in the tests of parameters. Test-only.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "optimizer/updater.h"
#include "parameters/helpers.h"
#include "wire/snapshot.h"

namespace capstan::testing {

// One for each rule that has slots.
inline std::vector<Optimizer> OptimizersWithSlots() {
  return {Momentum{.learning_rate = 0.1, .nesterov = true},
          Adagrad{.learning_rate = 0.1},
          Adadelta{.learning_rate = 0.1},
          RmsProp{.learning_rate = 0.1, .momentum = 0.5, .centered = true},
          Adam{.learning_rate = 0.1, .amsgrad = true},
          Adam{.learning_rate = 0.1, .row_moments = RowMoments::kExact},
          AdamW{.learning_rate = 0.1},
          Adamax{.learning_rate = 0.1},
          Nadam{.learning_rate = 0.1},
          Ftrl{.learning_rate = 0.1, .l1 = 0.01}};
}

inline std::vector<VariableSpec> SpecsWithSlots(Shape shape) {
  std::vector<VariableSpec> specs;
  for (const Optimizer& optimizer : OptimizersWithSlots()) {
    VariableSpec spec = Spec("v" + std::to_string(specs.size()), shape);
    spec.optimizer = optimizer;
    spec.initializer = Uniform{.seed = specs.size()};
    specs.push_back(std::move(spec));
  }
  return specs;
}

inline uint32_t NumSlots(const VariableSpec& spec) {
  if (!spec.optimizer) return 0;
  return static_cast<uint32_t>(
      Updater::Make(*spec.optimizer).value()->slots().size());
}

inline size_t RowBytes(const VariableSpec& spec, uint32_t part) {
  return static_cast<size_t>(spec.shape.row_elements()) *
         (part == 0 ? SizeOf(spec.dtype) : sizeof(float));
}

// The bytes of the values and of each slot of a variable.
using Parts = std::vector<std::vector<std::byte>>;

inline Parts ReadParts(ParameterJob& job, const std::string& name) {
  const VariableEntry& entry = *job.map().Find(name);
  Parts parts;
  for (uint32_t part = 0; part <= NumSlots(entry.spec); ++part) {
    const int64_t rows = entry.spec.shape.num_rows();
    parts.emplace_back(static_cast<size_t>(rows) * RowBytes(entry.spec, part));
    EXPECT_OK(job.Run(job.chief(), job.chief().ReadRows(entry.id, 0, rows,
                                                        parts.back(), part)));
  }
  return parts;
}

// The same, as snapshot `save_id` has them.
inline Parts SnapshotParts(ParameterJob& job, const std::string& name,
                           uint64_t save_id) {
  const VariableEntry& entry = *job.map().Find(name);
  Parts parts;
  for (uint32_t part = 0; part <= NumSlots(entry.spec); ++part) {
    const size_t row_bytes = RowBytes(entry.spec, part);
    parts.emplace_back(static_cast<size_t>(entry.spec.shape.num_rows()) *
                       row_bytes);
    for (uint32_t i = 0; i < entry.shards.size(); ++i) {
      const ShardPlace& place = entry.shards[i];
      SnapshotReadRequest request;
      request.fence = job.fence();
      request.save_id = save_id;
      request.key = {.variable = entry.id, .shard = i};
      request.slot = part;
      request.end = static_cast<uint64_t>(place.end - place.begin);
      const MutableBytes into =
          std::span(parts.back())
              .subspan(static_cast<size_t>(place.begin) * row_bytes,
                       request.end * row_bytes);
      EXPECT_OK(job.Run(job.chief(),
                        job.chief().SnapshotRead(place.server, request, into)));
    }
  }
  return parts;
}

inline absl::StatusOr<std::vector<SnapshotReply>> TakeSnapshot(
    ParameterJob& job, uint64_t save_id) {
  return job.Run(job.chief(), job.chief().Snapshot(
                                  {.fence = job.fence(), .save_id = save_id}));
}

inline absl::Status DropSnapshot(ParameterJob& job, uint64_t save_id) {
  return job.Run(job.chief(), job.chief().SnapshotDrop(
                                  {.fence = job.fence(), .save_id = save_id}));
}

// Stages rows [begin, end) of a variable, from `parts`, in requests of at most
// `most` rows.
inline absl::Status StageParts(ParameterJob& job, const std::string& name,
                               uint64_t restore_id, const Parts& parts,
                               uint64_t most, uint32_t first_part = 0) {
  const VariableEntry& entry = *job.map().Find(name);
  for (uint32_t part = first_part; part < parts.size(); ++part) {
    const size_t row_bytes = RowBytes(entry.spec, part);
    for (uint32_t i = 0; i < entry.shards.size(); ++i) {
      const ShardPlace& place = entry.shards[i];
      const auto rows = static_cast<uint64_t>(place.end - place.begin);
      for (uint64_t row = 0; row < rows; row += most) {
        StageRowsRequest request;
        request.fence = job.fence();
        request.restore_id = restore_id;
        request.key = {.variable = entry.id, .shard = i};
        request.map_version = job.map().version();
        request.slot = part;
        request.begin = row;
        request.end = std::min(rows, row + most);
        const Bytes bytes =
            std::span(parts[part])
                .subspan((static_cast<size_t>(place.begin) + row) * row_bytes,
                         (request.end - row) * row_bytes);
        CAPSTAN_RETURN_IF_ERROR(job.Run(
            job.chief(), job.chief().StageRows(place.server, request, bytes)));
      }
    }
  }
  return absl::OkStatus();
}

// The commit of all shards that `server` has of the variables `names`.
inline StageCommitRequest CommitOf(ParameterJob& job, uint32_t server,
                                   const std::vector<std::string>& names,
                                   uint64_t restore_id, OptimizerState state,
                                   bool slots) {
  StageCommitRequest request;
  request.fence = job.fence();
  request.restore_id = restore_id;
  request.map_version = job.map().version();
  for (const std::string& name : names) {
    const VariableEntry& entry = *job.map().Find(name);
    for (uint32_t i = 0; i < entry.shards.size(); ++i) {
      if (entry.shards[i].server != server) continue;
      request.shards.push_back({.key = {.variable = entry.id, .shard = i},
                                .updates = state.updates,
                                .momentum_product = state.momentum_product,
                                .slots = slots});
    }
  }
  std::sort(
      request.shards.begin(), request.shards.end(),
      [](const StageShard& a, const StageShard& b) { return a.key < b.key; });
  return request;
}

inline absl::Status CommitAll(ParameterJob& job,
                              const std::vector<std::string>& names,
                              uint64_t restore_id, OptimizerState state,
                              bool slots) {
  for (uint32_t server = 0; server < job.map().servers(); ++server) {
    CAPSTAN_RETURN_IF_ERROR(job.Run(
        job.chief(),
        job.chief().StageCommit(
            server, CommitOf(job, server, names, restore_id, state, slots))));
  }
  return absl::OkStatus();
}

}  // namespace capstan::testing
