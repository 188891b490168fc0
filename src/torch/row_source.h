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

// Used by the thread of the step. Lives as long as the replica. For each batch:
// Begin, Read by the module, ExpectGradients, backward, Flush or TakeAll;
// Finish before the next ExpectGradients; Abandon at the end of all.
class RowSource {
 public:
  // Makes `embedding` read from here, as the variable of that name.
  void Add(EmbeddingImpl* embedding, std::string variable);
  bool empty() const { return tables_.empty(); }

  // A step begins; with `train`, gradients will be wanted.
  void Begin(WorkerContext& worker, bool train);

  // The rows of `ids`, flat, as a tensor of [ids, dim] that wants a gradient.
  torch::Tensor Read(const EmbeddingImpl& embedding, const torch::Tensor& ids);

  // How many updates the gradients of what was read are.
  uint32_t num_updates() const;
  // They are numbered from `first` on. Each is sent as soon as backward has
  // found all gradients of its table, unless they are held for TakeAll.
  void ExpectGradients(uint32_t first, bool hold);

  // Backward has run: sends what is left. What was read and has no gradient has
  // no part in the batch.
  void Flush();
  // Backward has run, and all gradients were held: for the caller to send. What
  // they are views of lasts until Finish or Abandon.
  std::vector<RowGradient> TakeAll();
  // Waits for the gradients to be applied. Throws what went wrong.
  void Finish();
  // Waits without throwing, and reads no more.
  void Abandon() noexcept;

  // Time spent waiting in Read since the last call.
  int64_t TakeReadNs();

 private:
  struct Lookup {
    torch::Tensor ids;   // i64, flat, contiguous
    torch::Tensor rows;  // the leaf
    torch::Tensor gradient;
  };
  struct Table {
    const EmbeddingImpl* embedding;
    std::string variable;
    std::vector<Lookup> lookups = {};  // of this step
    size_t missing = 0;                // gradients
    uint32_t number = 0;
    PendingCall update = {};
    // What the update sends.
    torch::Tensor ids = {};
    torch::Tensor gradient = {};
  };

  Table& TableOf(const EmbeddingImpl& embedding);
  // Forgets the lookups of a table that have no gradient.
  static void DropUnused(Table& table);
  // Puts together what those of a table have found.
  static RowGradient Combine(Table& table);
  void Send(Table& table);

  // In the order of the module, the same in all replicas; a deque, as there are
  // references to them.
  std::deque<Table> tables_;
  WorkerContext* worker_ = nullptr;
  bool train_ = false;
  bool hold_ = false;
  int64_t read_ns_ = 0;
};

}  // namespace capstan
