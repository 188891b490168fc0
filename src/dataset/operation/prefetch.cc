#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "dataset/operation/operations.h"
#include "dataset/recipe/start_thread.h"

namespace capstan {
namespace {

class PrefetchCursor final : public Cursor {
 public:
  PrefetchCursor(const Recipe& input, std::int64_t n,
                 const Iteration& iteration)
      : iteration_(iteration),
        input_(
            input.Open({iteration.epoch, iteration.seed, stop_.get_token()})),
        n_(n),
        passes_on_(iteration.stop, PassOn{*this}),
        thread_(StartThread([this] { ReadAhead(); })) {}

  ~PrefetchCursor() override {
    Stop();
    thread_.join();
  }

  Run Next(std::int64_t max) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !queue_.empty() || ended_ || stopped_; });
    iteration_.ThrowIfStopped();
    if (queue_.empty()) return {};
    Item& front = queue_.front();
    if (front.thrown) {
      const std::exception_ptr thrown = front.thrown;
      queue_.pop_front();
      --ahead_;
      changed_.notify_all();
      std::rethrow_exception(thrown);
    }
    Run taken = front.run;
    taken.end = std::min(taken.end, taken.begin + max);
    front.run.begin = taken.end;
    ahead_ -= taken.size();
    if (front.run.size() == 0) queue_.pop_front();
    changed_.notify_all();
    return taken;
  }

 private:
  // Elements, or what was thrown in place of an element.
  struct Item {
    Run run;
    std::exception_ptr thrown;
  };

  // Stops the reading ahead when the whole iteration is stopped.
  struct PassOn {
    PrefetchCursor& cursor;
    void operator()() const { cursor.Stop(); }
  };

  void Stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    stop_.request_stop();
    changed_.notify_all();
  }

  void ReadAhead() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stopped_ || ahead_ < n_; });
      if (stopped_) return;
      const std::int64_t free = n_ - ahead_;
      lock.unlock();
      Item item;
      try {
        item.run = input_->Next(free);
      } catch (...) {
        item.thrown = std::current_exception();
      }
      lock.lock();
      if (!item.thrown && item.run.size() == 0) {
        ended_ = true;
        changed_.notify_all();
        return;
      }
      ahead_ += item.thrown ? 1 : item.run.size();
      queue_.push_back(std::move(item));
      changed_.notify_all();
    }
  }

  std::stop_source stop_;
  const Iteration iteration_;
  const std::unique_ptr<Cursor> input_;  // used by thread_
  const std::int64_t n_;

  std::condition_variable changed_;
  std::mutex mutex_;
  std::deque<Item> queue_;  // guarded by mutex_, as are the next three
  std::int64_t ahead_ = 0;  // elements in queue_
  bool ended_ = false;
  bool stopped_ = false;

  std::stop_callback<PassOn> passes_on_;
  std::jthread thread_;  // last, because it uses the others
};

class Prefetch final : public Recipe {
 public:
  Prefetch(RecipePtr input, std::int64_t n) : input_(std::move(input)), n_(n) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<PrefetchCursor>(*input_, n_, iteration);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    return input_->OpenTable();
  }
  std::optional<std::int64_t> Cardinality() const override {
    return input_->Cardinality();
  }

 private:
  const RecipePtr input_;
  const std::int64_t n_;
};

}  // namespace

RecipePtr MakePrefetch(RecipePtr input, std::int64_t n) {
  CheckAtLeast("Prefetch", n, 1);
  return std::make_shared<Prefetch>(std::move(input), n);
}

}  // namespace capstan
