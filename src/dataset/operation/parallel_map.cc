#include "dataset/operation/parallel_map.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "dataset/recipe/start_thread.h"

namespace capstan {
namespace {

// One element in progress. The thread that computes it has exclusive access
// until `done`.
struct Slot {
  Run given;
  std::optional<Example> made;
  std::exception_ptr thrown;
  bool done = false;  // guarded by the cursor's mutex
};

class ParallelMapCursor final : public Cursor {
 public:
  ParallelMapCursor(std::unique_ptr<Cursor> input, const MapFunction& function,
                    int parallel)
      : input_(std::move(input)),
        function_(function),
        window_(2 * static_cast<std::size_t>(parallel)) {
    try {
      for (int i = 0; i < parallel; ++i) {
        threads_.push_back(StartThread([this] { Work(); }));
      }
    } catch (...) {
      Stop();
      throw;
    }
  }

  ~ParallelMapCursor() override { Stop(); }

  Run Next(std::int64_t /*max*/) override {
    Fill();
    if (order_.empty()) return {};
    const std::shared_ptr<Slot> slot = std::move(order_.front());
    order_.pop_front();
    {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return slot->done; });
    }
    if (slot->thrown) std::rethrow_exception(slot->thrown);
    return {slot->made->block(), slot->made->row(), slot->made->row() + 1};
  }

 private:
  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    work_.notify_all();
    threads_.clear();  // joins
  }

  // Reads ahead. An error of the input takes its place in the order.
  void Fill() {
    while (!ended_ && order_.size() < window_) {
      auto slot = std::make_shared<Slot>();
      try {
        slot->given = input_->Next(1);
        if (slot->given.size() == 0) {
          ended_ = true;
          return;
        }
      } catch (...) {
        slot->thrown = std::current_exception();
        slot->done = true;
      }
      order_.push_back(slot);
      if (slot->thrown) continue;
      {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(slot));
      }
      work_.notify_one();
    }
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      work_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
      if (stopped_) return;
      const std::shared_ptr<Slot> slot = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      try {
        slot->made = function_(Example(slot->given.block, slot->given.begin));
      } catch (...) {
        slot->thrown = std::current_exception();
      }
      lock.lock();
      slot->done = true;
      done_.notify_one();
    }
  }

  const std::unique_ptr<Cursor> input_;
  const MapFunction& function_;
  const std::size_t window_;

  // Used only by the thread that calls Next.
  std::deque<std::shared_ptr<Slot>> order_;
  bool ended_ = false;

  std::condition_variable work_;
  std::condition_variable done_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<Slot>> waiting_;  // guarded by mutex_
  bool stopped_ = false;                       // guarded by mutex_

  std::vector<std::jthread> threads_;
};

}  // namespace

std::unique_ptr<Cursor> OpenParallelMap(std::unique_ptr<Cursor> input,
                                        const MapFunction& function,
                                        int parallel) {
  return std::make_unique<ParallelMapCursor>(std::move(input), function,
                                             parallel);
}

}  // namespace capstan
