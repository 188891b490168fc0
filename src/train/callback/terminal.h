// What Fit, Evaluate and Predict display, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "capstan/callback.h"
#include "capstan/trainer.h"

namespace capstan {

// TerminalOptions with all defaults filled in.
struct Terminal {
  std::ostream* out = nullptr;
  bool is_terminal = false;
  bool color = false;
  std::size_t width = 80;
  std::function<std::int64_t()> now;
};
Terminal ResolveTerminal(const TerminalOptions& options);

// "loss" and the metrics, in display order.
std::vector<std::string> MetricNames(const StepConfig& order);

// The callbacks, plus one that shows the progress according to `verbose` unless
// there already is one.
std::vector<CallbackHandle> WithDisplay(std::vector<CallbackHandle> callbacks,
                                        Verbose verbose,
                                        const TerminalOptions& terminal);

}  // namespace capstan
