// The updater that all rules share: it splits an update into calls of the
// rule's kernel. A rule adds its kernel, its slots and its scalars.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "capstan/optimizer.h"
#include "optimizer/kernel.h"
#include "optimizer/rule_scalars.h"
#include "optimizer/updater.h"

namespace capstan {

// Immutable; thread-safe.
class KernelUpdater : public Updater {
 public:
  std::span<const SlotInfo> slots() const final { return slots_; }
  UpdateStep Begin(const OptimizerState& state, double gradient_scale,
                   uint64_t staleness) const final;
  void Dense(const UpdateStep& step, const DenseUpdate& update) const final;
  void Rows(const UpdateStep& step, const RowsUpdate& update) const final;
  void Advance(OptimizerState& state) const override;

 protected:
  // `optimizer` must be valid, and `kernel` must have as many slots as `slots`.
  KernelUpdater(const Optimizer& optimizer, Kernel kernel,
                std::vector<SlotInfo> slots,
                RowMoments row_moments = RowMoments::kLazy);

  // What the kernel needs for the next update of a shard in `state`, at
  // learning rate `rate`.
  virtual RuleScalars Prepare(const OptimizerState& state,
                              double rate) const = 0;

 private:
  KernelCall CallFor(const UpdateStep& step) const;
  // These take `call` with its arrays not yet set.
  void DensePiece(KernelCall call, const DenseUpdate& update) const;
  void WidenedPiece(KernelCall call, const DenseUpdate& update) const;
  void TouchedRows(const UpdateStep& step, const RowsUpdate& update) const;
  void LongRows(const UpdateStep& step, const RowsUpdate& update) const;
  void WholeVectorRows(const UpdateStep& step, const RowsUpdate& update) const;
  void PackedRows(const UpdateStep& step, const RowsUpdate& update) const;
  void UntouchedRows(const UpdateStep& step, const RowsUpdate& update) const;
  void ZeroGradient(const UpdateStep& step, const RowsUpdate& update,
                    size_t begin_row, size_t end_row) const;

  const Kernel kernel_;
  const std::vector<SlotInfo> slots_;
  const LearningRate learning_rate_;
  const RowMoments row_moments_;
  const float clip_;
  const float weight_decay_;
  const double staleness_power_;
};

// The updater of each rule. Both arguments must be valid (see validate.h), and
// the rule must be the optimizer's.
std::unique_ptr<const Updater> MakeUpdater(const Sgd&, const Optimizer&);
std::unique_ptr<const Updater> MakeUpdater(const Momentum&, const Optimizer&);
std::unique_ptr<const Updater> MakeUpdater(const Adagrad&, const Optimizer&);
std::unique_ptr<const Updater> MakeUpdater(const Adadelta&, const Optimizer&);
std::unique_ptr<const Updater> MakeUpdater(const RmsProp&, const Optimizer&);
std::unique_ptr<const Updater> MakeUpdater(const Adam&, const Optimizer&);
std::unique_ptr<const Updater> MakeUpdater(const AdamW&, const Optimizer&);
std::unique_ptr<const Updater> MakeUpdater(const Adamax&, const Optimizer&);
std::unique_ptr<const Updater> MakeUpdater(const Nadam&, const Optimizer&);
std::unique_ptr<const Updater> MakeUpdater(const Ftrl&, const Optimizer&);

}  // namespace capstan
