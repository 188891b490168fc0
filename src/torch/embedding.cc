#include "capstan/error.h"
#include "capstan/torch.h"
#include "torch/row_source.h"

namespace capstan {
namespace {

int64_t AtLeastOne(const char* what, int64_t value) {
  if (value >= 1) return value;
  throw Error(ErrorCode::kInvalidArgument,
              "an Embedding of " + std::to_string(value) + " " + what +
                  "; there must be at least 1");
}

}  // namespace

EmbeddingImpl::EmbeddingImpl(int64_t rows, int64_t dim, Initializer initializer,
                             std::optional<Optimizer> optimizer,
                             std::optional<NonFinite> non_finite)
    : rows_(AtLeastOne("rows", rows)),
      dim_(AtLeastOne("dimensions", dim)),
      initializer_(std::move(initializer)),
      optimizer_(std::move(optimizer)),
      non_finite_(non_finite) {}

torch::Tensor EmbeddingImpl::forward(const torch::Tensor& ids) {
  if (source_ == nullptr) {
    throw Error(ErrorCode::kFailedPrecondition,
                "the rows of an Embedding are on the servers: it works in a "
                "model that AddModel has registered, in a step");
  }
  if (ids.scalar_type() != torch::kInt64 &&
      ids.scalar_type() != torch::kInt32) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string("an Embedding was given ids of type ") +
                    c10::toString(ids.scalar_type()) +
                    "; they must be i64 or i32");
  }
  std::vector<int64_t> sizes = ids.sizes().vec();
  sizes.push_back(dim_);
  return source_->Read(*this, ids).reshape(sizes);
}

VariableSpec EmbeddingImpl::Spec(NonFinite of_model) const {
  VariableSpec spec;
  spec.shape = {rows_, dim_};
  spec.initializer = initializer_;
  spec.optimizer = optimizer_;
  spec.non_finite = non_finite_.value_or(of_model);
  return spec;
}

}  // namespace capstan
