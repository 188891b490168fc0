// Runs blocking work in parallel, a few pieces at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <vector>

#include "absl/status/status.h"

namespace capstan {

// Bounded because each piece has a thread and a buffer.
inline constexpr size_t kMostAtOnce = 4;

// Runs all of `works`, each once and on a thread of its own, and waits for
// them. After an error no more are started; returns the first error in the
// order of the list.
inline absl::Status RunAtOnce(
    const std::vector<std::function<absl::Status()>>& works) {
  std::vector<absl::Status> results(works.size());
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto run = [&] {
    while (!failed.load()) {
      const size_t i = next.fetch_add(1);
      if (i >= works.size()) return;
      results[i] = works[i]();
      if (!results[i].ok()) failed.store(true);
    }
  };
  std::vector<std::future<void>> threads;
  for (size_t i = 0; i < std::min(kMostAtOnce, works.size()); ++i) {
    threads.push_back(std::async(std::launch::async, run));
  }
  for (const std::future<void>& thread : threads) thread.wait();
  absl::Status first;
  for (const absl::Status& result : results) first.Update(result);
  return first;
}

}  // namespace capstan
