// Mutual exclusion by delegation: whoever comes while another has the turn
// leaves his work to him, and goes on when it is done.
//
// A shard has a turn. A request that finds it free runs on its own thread, with
// one atomic operation to take it and one to give it back; nobody ever waits
// for a lock, and the shard's memory stays in the cache of the thread that
// works on it. docs/decisions/010 says why not a fixed thread for each shard.
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
  // A piece of work. `run` must not throw, nor enter the same turn.
  struct Work {
    void (*run)(Work&) = nullptr;
    // The work was left to another thread, and is done. Called there; after
    // that the turn does not touch the work any more.
    void (*done)(Work&) = nullptr;
    Work* next = nullptr;
  };

  // Runs `work`, and what others have left meanwhile. True if it has run; else
  // it was left to whoever has the turn, who calls `done`.
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
  // that enters meanwhile is left until Release. Lets tests and the simulation,
  // which have one thread, run what happens between two turns of a request.
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
      // Last come, first in the list: turn it round.
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

  // Null: free. &held_: taken, and nothing is left. Else the last of the works
  // left, whose chain of `next` ends with &held_.
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

  // Waits until another thread has run it; for when Enter returned false.
  Task<> Done() {
    if (finished_) co_return;
    waiter_.emplace(home_);
    while (!finished_) co_await waiter_->Sleep();
  }

 private:
  const Executor home_;
  Function function_;
  // Touched on `home_` alone.
  std::optional<Waiter> waiter_;
  bool finished_ = false;
};

}  // namespace capstan
