// The values of a model: read, set, saved and loaded.
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/file/open_folder.h"
#include "capstan/error.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "checkpoint/tensor_file/tensor_file.h"
#include "coordinator/checkpoint/import_variables.h"
#include "coordinator/closure/queue_pause.h"
#include "coordinator/coordinator_impl.h"
#include "dataset/format/input_file.h"
#include "tensor/view.h"
#include "train/trainer_impl.h"

namespace capstan {
namespace {

// A value to be assigned to a variable.
struct Offered {
  DType dtype;
  Shape shape;
};
using OfferedValues = std::map<std::string, Offered>;

// Whether dtypes may differ (they are then converted).
enum class Types { kSame, kAny };

absl::Status CheckFits(const VariableSpec& spec, const Offered& value,
                       Types types) {
  const bool type_fits = types == Types::kAny || value.dtype == spec.dtype;
  if (type_fits && value.shape == spec.shape) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "variable '", spec.name, "' is ", Describe(spec.dtype, spec.shape),
      ", and its value ", Describe(value.dtype, value.shape)));
}

// InvalidArgument, naming the variable, unless `values` has exactly the
// variables of the model, with or without the iterations.
absl::Status CheckValues(const Trainer::Impl& trainer,
                         const OfferedValues& values, Types types) {
  std::set<std::string> known;
  for (const ModelVariable& variable : trainer.variables) {
    const auto found = values.find(variable.spec.name);
    if (found == values.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "there is no value for variable '", variable.spec.name, "'"));
    }
    CAPSTAN_RETURN_IF_ERROR(CheckFits(variable.spec, found->second, types));
    known.insert(variable.spec.name);
  }
  for (const auto& [name, value] : values) {
    if (known.contains(name)) continue;
    if (name != trainer.IterationsName()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the model '", trainer.model.name(), "' has no variable '",
          absl::Utf8SafeCHexEscape(name), "'"));
    }
    CAPSTAN_RETURN_IF_ERROR(
        CheckFits({.name = name, .shape = {}, .dtype = DType::kI64}, value,
                  Types::kSame));
  }
  return absl::OkStatus();
}

// While it lives, neither a running Fit nor the program changes the values:
// they are as between two steps, or rounds of steps.
class StepPause {
 public:
  // Throws kFailedPrecondition if a step has failed; the step's own error is
  // still reported.
  explicit StepPause(Trainer::Impl& trainer)
      : front_(CoordinatorMaker::ImplOf(trainer.coordinator)) {
    // Before pausing the queue, schedule the rest of the round, which the queue
    // still dispatches.
    trainer.before_cut();
    no_updates_ = std::unique_lock(front_->applying);
    pause_.emplace(front_->dispatcher.shared_queue());
    ThrowIfError(front_->dispatcher.queue().AwaitQuiet(kDrainTimeout));
  }

 private:
  const std::shared_ptr<CoordinatorMaker::Impl> front_;
  std::unique_lock<std::shared_mutex> no_updates_;
  std::optional<QueuePause> pause_;
};

}  // namespace

std::map<std::string, Tensor> Trainer::Values() {
  // Outside Fit, pausing the program's own steps is up to the program.
  std::optional<StepPause> pause;
  if (impl_->before_cut) pause.emplace(*impl_);
  std::vector<std::string> names;
  for (const ModelVariable& variable : impl_->variables) {
    names.push_back(variable.spec.name);
  }
  std::vector<Tensor> tensors = impl_->coordinator.ReadAll(names);
  std::map<std::string, Tensor> values;
  for (size_t i = 0; i < names.size(); ++i) {
    values.emplace(names[i], std::move(tensors[i]));
  }
  // Include steps that are in the values but have not been reported yet.
  const std::int64_t iterations =
      pause ? impl_->cut_record().iterations : impl_->iterations;
  values.emplace(impl_->IterationsName(), Tensor::Scalar(iterations));
  return values;
}

void Trainer::SetValues(const std::map<std::string, Tensor>& values) {
  if (impl_->PassesOver("SetValues")) return;
  OfferedValues offered;
  std::vector<VariableUpdate> updates;
  for (const auto& [name, value] : values) {
    offered.emplace(name, Offered{value.dtype(), value.shape()});
    updates.push_back({name, value});
  }
  ThrowIfError(CheckValues(*impl_, offered, Types::kSame));
  impl_->coordinator.Apply(Operation::kSet, updates);
  const auto iterations = values.find(impl_->IterationsName());
  if (iterations != values.end()) {
    impl_->iterations = iterations->second.Values<int64_t>()[0];
  }
}

void Trainer::Save(const std::string& path) {
  const std::map<std::string, Tensor> values = Values();
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : values) {
    tensors.push_back({name, value.view()});
  }
  const FileInFolder file = OpenFolderOf(path, IfMissing::kCreate);
  ThrowIfError(WriteSafetensors(*file.folder, file.name, tensors,
                                {{"model", impl_->model.name()}}));
}

void Trainer::Load(const std::string& path) {
  if (impl_->PassesOver(absl::StrCat("Load of '", path, "'"))) return;
  const std::unique_ptr<TensorFile> file = ValueOrThrow(OpenTensorFile(
      ValueOrThrow(OpenInputFile(path)), path,
      TensorFormatOf(path).value_or(TensorFormat::kSafetensors)));
  OfferedValues offered;
  std::set<std::string> names;
  for (const FileTensor& tensor : file->tensors()) {
    if (!tensor.unreadable.empty()) {
      ThrowIfError(absl::InvalidArgumentError(absl::StrCat(
          path, ": tensor '", absl::Utf8SafeCHexEscape(tensor.name),
          "': ", tensor.unreadable)));
    }
    offered.emplace(tensor.name, Offered{tensor.dtype, tensor.shape});
    names.insert(tensor.name);
  }
  ThrowIfError(WithContext(CheckValues(*impl_, offered, Types::kAny), path));
  if (impl_->before_cut) impl_->before_cut();
  ThrowIfError(ImportFrom(*CoordinatorMaker::ImplOf(impl_->coordinator), *file,
                          {}, &names)
                   .status());
  if (!names.contains(impl_->IterationsName())) return;
  impl_->iterations =
      impl_->coordinator.Read(impl_->IterationsName()).Values<int64_t>()[0];
}

}  // namespace capstan
