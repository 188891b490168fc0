// Mutual exclusion by delegation: a thread that comes while another one has the
// turn leaves its work to that thread, and continues when the work is done.
//
// Every shard has a turn. A request that finds the turn free runs on its own
// thread, with one atomic operation to take the turn and one to give it back.
// Nobody ever waits for a lock, and the shard's memory stays in the cache of
// the thread that works on it. docs/decisions/010 says why there is no fixed
// thread for each shard.
#pragma once

#include <asio/post.hpp>
#include <atomic>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/async/task.h"
#include "base/async/waiter.h"

namespace capstan {

// Thread-safe.
class Turn {
 public:
  // A piece of work. `run` must neither throw nor enter the same turn.
  struct Work {
    void (*run)(Work&) = nullptr;
    // Called when the work was left to another thread and is done, on that
    // thread; the turn does not touch the work after that.
    void (*done)(Work&) = nullptr;
    Work* next = nullptr;
  };

  // Runs `work`, and what others have left in the meantime. True if `work` has
  // run; else it was left to the thread that has the turn, which calls `done`.
  bool Enter(Work& work) {
    Work* top = nullptr;
    while (true) {
      if (top == nullptr) {
        if (!top_.compare_exchange_weak(top, &held_,
                                        std::memory_order_acquire)) {
          continue;
        }
        work.run(work);
        Leave();
        return true;
      }
      work.next = top;
      if (top_.compare_exchange_weak(top, &work, std::memory_order_release,
                                     std::memory_order_relaxed)) {
        return false;
      }
    }
  }

  // Takes the turn if it is free and keeps it, as a busy thread would: work
  // that enters in the meantime is left until Release. Lets tests and the
  // simulation, which have one thread, run what happens between two turns of a
  // request.
  bool TryHold() {
    Work* top = nullptr;
    return top_.compare_exchange_strong(top, &held_, std::memory_order_acquire,
                                        std::memory_order_relaxed);
  }
  // Runs what was left, and gives the turn back.
  void Release() { Leave(); }

 private:
  void Leave() {
    while (true) {
      Work* top = &held_;
      if (top_.compare_exchange_strong(top, nullptr, std::memory_order_release,
                                       std::memory_order_relaxed)) {
        return;
      }
      // The list has the latest work first: reverse it.
      Work* work = top_.exchange(&held_, std::memory_order_acquire);
      Work* first = nullptr;
      while (work != &held_) {
        Work* next = work->next;
        work->next = first;
        first = work;
        work = next;
      }
      while (first != nullptr) {
        Work* next = first->next;
        first->run(*first);
        first->done(*first);
        first = next;
      }
    }
  }

  // Null: free. &held_: taken, and no work was left. Else the latest work that
  // was left; the chain of `next` ends with &held_.
  std::atomic<Work*> top_ = nullptr;
  Work held_;
};

// A function that a coroutine runs in a turn:
//
//   TurnEntry entry(home, [&] { ... });
//   if (!turn.Enter(entry)) co_await entry.Done();
//
// `home` is the executor of that coroutine, which keeps the entry alive until
// it has run. Not a coroutine itself, as most turns are free.
template <typename Function>
requires std::is_invocable_v<Function&>
class TurnEntry : public Turn::Work {
 public:
  TurnEntry(const Executor& home, Function function)
      : home_(home), function_(std::move(function)) {
    run = [](Turn::Work& work) { static_cast<TurnEntry&>(work).function_(); };
    done = [](Turn::Work& work) {
      auto& self = static_cast<TurnEntry&>(work);
      asio::post(self.home_, [&self] {
        self.finished_ = true;
        if (self.waiter_) self.waiter_->WakeNow();
      });
    };
  }

  // Waits until another thread has run it; only after Enter returned false.
  Task<> Done() {
    if (finished_) co_return;
    waiter_.emplace(home_);
    while (!finished_) co_await waiter_->Sleep();
  }

 private:
  const Executor home_;
  Function function_;
  // Used only on `home_`.
  std::optional<Waiter> waiter_;
  bool finished_ = false;
};

}  // namespace capstan
