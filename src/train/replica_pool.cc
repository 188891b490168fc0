#include "train/replica_pool.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/error.h"
#include "train/step_config.h"

namespace capstan {

ModelReplica::~ModelReplica() = default;

ReplicaPool::ReplicaPool(std::shared_ptr<const ModelDefinition> definition)
    : definition_(std::move(definition)) {}

ReplicaPool::Lease::Lease(ReplicaPool& pool, std::unique_ptr<Member> member)
    : pool_(&pool), member_(std::move(member)) {}

void ReplicaPool::Lease::GiveBack() && {
  const std::lock_guard lock(pool_->mutex_);
  pool_->free_.push_back(std::move(member_));
}

ReplicaPool::Lease ReplicaPool::Take(const std::string& order) {
  std::unique_ptr<Lease::Member> member;
  {
    // Take the one used last: its memory is warm and its values are recent.
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      member = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (member == nullptr) {
    member = std::make_unique<Lease::Member>();
    member->replica = definition_->make();
    if (member->replica == nullptr) {
      throw Error(ErrorCode::kInvalidArgument,
                  absl::StrCat("the model '", definition_->name,
                               "': `make` has returned null"));
    }
  }
  if (member->order_text != order) {
    member->order = DecodeOrder(order);
    member->metrics.clear();
    for (const MetricSpec& metric : member->order.metrics) {
      member->metrics.push_back(
          MakeMetric(metric, member->order.loss, definition_->metrics));
    }
    member->order_text = order;
  }
  for (const std::unique_ptr<MetricState>& metric : member->metrics) {
    metric->Reset();
  }
  return Lease(*this, std::move(member));
}

}  // namespace capstan
