// What happened in a simulated run: a hash of every event, for comparing runs,
// and optionally text for people.
#pragma once

#include <cstdint>
#include <ostream>
#include <string_view>

#include "base/async/clock.h"
#include "base/hash.h"

namespace capstan {

// Everything added must be the same in every run of a seed, with every
// compiler: virtual times, names, numbers; never memory addresses, real time or
// the order of a hash table. Used from one thread.
class SimTrace {
 public:
  // Writes a line of text per event to `text`, unless it is null; `text` must
  // outlive the trace.
  explicit SimTrace(std::ostream* text) : text_(text) {}

  // Adds an event: when, on which node, what, and two numbers such as sizes.
  void Add(MonotonicTime time, std::string_view node, std::string_view what,
           uint64_t first = 0, uint64_t second = 0);

  // Adds a number to the hash only: for events too frequent to print.
  void AddNumber(uint64_t number) { hasher_.Add(number); }

  // Adds a line to the text only: for what explains a run but may be reworded,
  // such as log messages.
  void AddText(MonotonicTime time, std::string_view node,
               std::string_view text);

  // Whether AddText has any effect.
  bool has_text() const { return text_ != nullptr; }

  // The hash of everything added so far.
  uint64_t Digest() const { return hasher_.Digest(); }
  uint64_t events() const { return events_; }

 private:
  Hasher hasher_;
  uint64_t events_ = 0;
  std::ostream* const text_;
};

}  // namespace capstan
