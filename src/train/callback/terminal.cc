#include "train/callback/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "base/async/real_clock.h"
#include "capstan/resolver.h"

namespace capstan {
namespace {

std::size_t WindowWidth() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return 80;
  }
  return size.ws_col;
}

}  // namespace

Terminal ResolveTerminal(const TerminalOptions& options) {
  Terminal terminal;
  terminal.out = options.stream != nullptr ? options.stream : &std::cout;
  const bool own = options.stream == nullptr;
  terminal.is_terminal =
      options.is_terminal.value_or(own && isatty(STDOUT_FILENO) == 1);
  terminal.color = options.color.value_or(
      terminal.is_terminal &&
      !Environment::FromProcess().Get("NO_COLOR").has_value());
  // Leave the last column free: some terminals wrap there.
  terminal.width = options.width
                       ? static_cast<std::size_t>(std::max(*options.width, 20))
                       : (own ? WindowWidth() - 1 : 79);
  terminal.now = options.now ? options.now : [] {
    return std::int64_t{RealClock().Now().time_since_epoch().count()};
  };
  return terminal;
}

std::vector<std::string> MetricNames(const StepConfig& order) {
  std::vector<std::string> names = {"loss"};
  for (const MetricSpec& metric : order.metrics) {
    names.push_back(NameOf(metric));
  }
  return names;
}

std::vector<CallbackHandle> WithDisplay(std::vector<CallbackHandle> callbacks,
                                        Verbose verbose,
                                        const TerminalOptions& terminal) {
  if (verbose == Verbose::kSilent) return callbacks;
  const bool there = std::any_of(
      callbacks.begin(), callbacks.end(), [](const CallbackHandle& callback) {
        return dynamic_cast<ProgressBar*>(callback.get().get()) != nullptr;
      });
  // Last, so that it shows what the other callbacks added.
  if (!there) callbacks.emplace_back(ProgressBar(verbose, terminal));
  return callbacks;
}

}  // namespace capstan
