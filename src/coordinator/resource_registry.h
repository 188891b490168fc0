// The per-worker resources that the program has created.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "capstan/function.h"

namespace capstan {

// Thread-safe. Held by a shared_ptr, as handles may outlive the coordinator.
class ResourceRegistry : public std::enable_shared_from_this<ResourceRegistry> {
 public:
  // `on_change` is called, from any thread, when a resource is added or
  // removed; it must not call back. Never called after Close.
  explicit ResourceRegistry(std::function<void()> on_change)
      : on_change_(std::move(on_change)) {}

  // Adds a resource, which is removed with the last copy of the handle.
  std::shared_ptr<const uint64_t> Add(
      std::shared_ptr<const ResourceInfo> info) {
    uint64_t id = 0;
    {
      const std::lock_guard lock(mutex_);
      id = ++last_;
      all_.emplace(id, std::move(info));
      if (on_change_) on_change_();
    }
    return std::shared_ptr<const uint64_t>(
        new uint64_t(id), [self = shared_from_this()](const uint64_t* handle) {
          self->Remove(*handle);
          delete handle;
        });
  }

  using Resources = std::map<uint64_t, std::shared_ptr<const ResourceInfo>>;
  Resources all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

  // No changes are reported after this.
  void Close() {
    const std::lock_guard lock(mutex_);
    on_change_ = nullptr;
  }

 private:
  void Remove(uint64_t id) {
    const std::lock_guard lock(mutex_);
    all_.erase(id);
    if (on_change_) on_change_();
  }

  mutable std::mutex mutex_;
  std::function<void()> on_change_;  // guarded by mutex_
  uint64_t last_ = 0;                // guarded by mutex_
  Resources all_;                    // guarded by mutex_
};

}  // namespace capstan
