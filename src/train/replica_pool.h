// The replicas of a model in one worker: as many as were ever in use at once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "capstan/trainer.h"

namespace capstan {

// Thread-safe.
class ReplicaPool {
 public:
  explicit ReplicaPool(std::shared_ptr<const ModelDefinition> definition);
  ReplicaPool(const ReplicaPool&) = delete;
  ReplicaPool& operator=(const ReplicaPool&) = delete;

  // A replica for one step, with the order of what the step must do. A replica
  // that is not returned to the pool, as after an exception, is destroyed.
  class Lease {
   public:
    ModelReplica& replica() const { return *member_->replica; }
    const StepConfig& order() const { return member_->order; }
    std::span<const std::unique_ptr<MetricState>> metrics() const {
      return member_->metrics;
    }
    void GiveBack() &&;

   private:
    friend class ReplicaPool;
    struct Member {
      std::unique_ptr<ModelReplica> replica;
      std::string order_text;
      StepConfig order;
      std::vector<std::unique_ptr<MetricState>> metrics;
    };
    Lease(ReplicaPool& pool, std::unique_ptr<Member> member);

    ReplicaPool* pool_;
    std::unique_ptr<Member> member_;
  };

  // The metrics start empty. Throws what making a replica or a metric throws,
  // and kInvalidArgument if `order` is malformed. The pool must outlive the
  // lease.
  Lease Take(const std::string& order);

 private:
  const std::shared_ptr<const ModelDefinition> definition_;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Lease::Member>> free_;  // guarded by mutex_
};

}  // namespace capstan
