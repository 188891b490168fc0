#include "simulation/sim_log.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <memory>
#include <string>

namespace capstan {
namespace {

// A world runs in one thread, so its sink needs no lock.
class TraceSink final
    : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  TraceSink(SimTrace& trace, const SimClock& clock)
      : trace_(trace), clock_(clock) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    trace_.AddText(clock_.Now(),
                   {message.logger_name.data(), message.logger_name.size()},
                   {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

  SimTrace& trace_;
  const SimClock& clock_;
};

}  // namespace

Logger NewSimLogger(SimTrace& trace, const SimClock& clock,
                    std::string_view name) {
  if (!trace.has_text()) return Logger();
  LogOptions options;
  options.level = LogLevel::kDebug;
  options.prefix = std::string(name);
  return Logger::ToSink(options, std::make_shared<TraceSink>(trace, clock));
}

}  // namespace capstan
