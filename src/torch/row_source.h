// The rows of embeddings that one step reads, and their gradients.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "capstan/torch.h"
#include "capstan/worker.h"

namespace capstan {

// Used by the step's thread. Lives as long as the replica. For each batch:
// Begin, Read by the module, ExpectGradients, backward, then Flush or TakeAll.
// Finish must precede the next ExpectGradients; call Abandon at the very end.
class RowSource {
 public:
  // Makes `embedding` read the rows of `variable` from here.
  void Add(EmbeddingImpl* embedding, std::string variable);
  bool empty() const { return tables_.empty(); }

  // Begins a step; with `train`, gradients will be needed.
  void Begin(WorkerContext& worker, bool train);

  // The rows of `ids`, flattened, as a tensor of shape [ids, dim] that requires
  // a gradient.
  torch::Tensor Read(const EmbeddingImpl& embedding, const torch::Tensor& ids);

  // The number of updates for the gradients of the rows read.
  uint32_t num_updates() const;
  // Numbers the updates from `first`. Each is sent as soon as backward has
  // computed all gradients of its table, or held for TakeAll if `hold` is set.
  void ExpectGradients(uint32_t first, bool hold);

  // Call after backward: sends the remaining gradients. Rows that were read but
  // have no gradient are left out of the batch.
  void Flush();
  // Call after backward if gradients are held: returns them for the caller to
  // send. The memory they view stays valid until Finish or Abandon.
  std::vector<RowGradient> TakeAll();
  // Waits for the gradients to be applied. Throws the error if one failed.
  void Finish();
  // Waits without throwing, and stops reading.
  void Abandon() noexcept;

  // Time spent waiting in Read since the last TakeReadNs.
  int64_t TakeReadNs();

 private:
  struct Lookup {
    torch::Tensor ids;   // i64, flat, contiguous
    torch::Tensor rows;  // autograd leaf
    torch::Tensor gradient;
  };
  struct Table {
    const EmbeddingImpl* embedding;
    std::string variable;
    std::vector<Lookup> lookups = {};  // of this step
    size_t missing = 0;                // gradients
    uint32_t number = 0;
    PendingCall update = {};
    // The memory being sent by the update.
    torch::Tensor ids = {};
    torch::Tensor gradient = {};
  };

  Table& TableOf(const EmbeddingImpl& embedding);
  // Drops the lookups of a table that have no gradient.
  static void DropUnused(Table& table);
  // Combines the gradients of a table's lookups.
  static RowGradient Combine(Table& table);
  void Send(Table& table);

  // In the order of the module, which is the same in all replicas; a deque, to
  // keep references valid.
  std::deque<Table> tables_;
  WorkerContext* worker_ = nullptr;
  bool train_ = false;
  bool hold_ = false;
  int64_t read_ns_ = 0;
};

}  // namespace capstan
