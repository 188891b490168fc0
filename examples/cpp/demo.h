// What the tasks of the demo agree on.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

#include "base/clock.h"
#include "capstan/tensor.h"
#include "wire/method.h"

namespace capstan {

// What they ask of one another, besides the probes.
inline constexpr Method kPullTensor{60'001};  // ps: the tensor's elements
inline constexpr Method kPushUpdate{60'002};  // ps: add these to them
inline constexpr Method kMeasure{60'003};     // worker: a Measurement
inline constexpr Method kTrain{60'004};       // worker: kSteps steps
inline constexpr Method kDigest{60'005};      // both: the tensor's checksum

// How long each waits for another. The coordinator waits longer, so that a
// worker whose server is gone can say so.
inline constexpr Duration kServerTimeout = std::chrono::seconds(5);
inline constexpr Duration kWorkerTimeout = std::chrono::seconds(15);

inline constexpr int kWorkers = 2;
inline constexpr int kSteps = 5;

// The tensor: 64 MiB, whose element i starts as i % 1000. In each of its steps
// worker w adds w + 1 to every element. All sums are exact in float.
inline Shape TensorShape() { return {4096, 4096}; }
inline float InitialElement(size_t i) { return static_cast<float>(i % 1000); }
inline float UpdateOf(int worker) { return static_cast<float>(worker + 1); }

// What has been added to all elements alike, or -1 if not all have the same:
// half of an update, say.
inline float AddedToAll(std::span<const float> elements) {
  const float added = elements[0] - InitialElement(0);
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] != InitialElement(i) + added) return -1;
  }
  return added;
}

// What a worker measures of its link to the server.
struct Measurement {
  double round_trip_us = 0;  // of 4 KiB
  double pull_gbps = 0;      // of the tensor
  double push_gbps = 0;
};

}  // namespace capstan
