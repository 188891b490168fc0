// Logging: one line per event, with the time, the level, the task and the
// message. A Logger is passed to whoever needs one; there is no global.
//
//   Logger logger = Logger::ToStderr({.level = LogLevel::kInfo,
//                                     .prefix = "worker/1"});
//   logger.Info("connected to {} in {} ms", peer, milliseconds);
//
//   2023-11-15T22:29:01.123456Z I worker/1: connected to ps/0 in 3 ms
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace spdlog {
class logger;
namespace sinks {
class sink;
}  // namespace sinks
}  // namespace spdlog

namespace capstan {

// From the most verbose to silent.
enum class LogLevel { kTrace, kDebug, kInfo, kWarning, kError, kOff };

// "trace", "debug", "info", "warning", "error" or "off", as on a command line.
// InvalidArgument, listing these, for any other text.
absl::StatusOr<LogLevel> ParseLogLevel(std::string_view text);
std::string_view LogLevelName(LogLevel level);

// The time to print; virtual time in simulation. Called from any thread that
// logs, so it must be thread-safe if the Logger is shared between threads.
using LogClock = std::function<std::chrono::system_clock::time_point()>;

struct LogOptions {
  // Messages below this level are dropped.
  LogLevel level = LogLevel::kInfo;
  // The task that logs, such as "worker/1".
  std::string prefix = "capstan";
  // If empty, the machine's wall clock.
  LogClock clock = nullptr;
};

// A handle to a log destination, which copies share. Thread-safe: lines from
// several threads do not interleave. Never throws and never fails: a line that
// cannot be written is lost.
class Logger {
 public:
  // A logger that drops everything.
  Logger();
  ~Logger();
  Logger(const Logger&);
  Logger& operator=(const Logger&);
  Logger(Logger&&) noexcept;
  Logger& operator=(Logger&&) noexcept;

  // A logger that writes to standard error and flushes each line.
  static Logger ToStderr(const LogOptions& options);

  // A logger that writes to `sink`, which must be thread-safe and receives
  // lines in the format above. log_capture.h has the sink for tests.
  static Logger ToSink(const LogOptions& options,
                       std::shared_ptr<spdlog::sinks::sink> sink);

  // This logger with another prefix: for a role that starts others.
  Logger WithPrefix(std::string_view prefix) const;

  // Whether a message of `level` would be written. For callers whose arguments
  // are expensive to compute; the methods below check this themselves before
  // they format anything.
  bool Enabled(LogLevel level) const { return level >= level_; }

  // Writes one line, formatted as by fmt::format; the format is checked at
  // compile time. Control characters in the message are escaped ("\n" becomes a
  // backslash and an n), so text from a peer cannot forge a line.
  template <typename... Args>
  void Trace(fmt::format_string<Args...> format, Args&&... args) const {
    Log(LogLevel::kTrace, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void Debug(fmt::format_string<Args...> format, Args&&... args) const {
    Log(LogLevel::kDebug, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void Info(fmt::format_string<Args...> format, Args&&... args) const {
    Log(LogLevel::kInfo, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void Warning(fmt::format_string<Args...> format, Args&&... args) const {
    Log(LogLevel::kWarning, format, std::forward<Args>(args)...);
  }
  template <typename... Args>
  void Error(fmt::format_string<Args...> format, Args&&... args) const {
    Log(LogLevel::kError, format, std::forward<Args>(args)...);
  }

  // The same for a level known at run time. kOff writes nothing.
  template <typename... Args>
  void Log(LogLevel level, fmt::format_string<Args...> format,
           Args&&... args) const {
    if (!Enabled(level) || level == LogLevel::kOff) return;
    Write(level, format, fmt::make_format_args(args...));
  }

 private:
  Logger(const LogOptions& options, std::shared_ptr<spdlog::logger> spdlog);

  void Write(LogLevel level, fmt::string_view format,
             fmt::format_args args) const noexcept;

  // Constant after construction; the sink has its own lock.
  LogLevel level_ = LogLevel::kOff;
  LogClock clock_;
  std::shared_ptr<spdlog::logger> spdlog_;
};

}  // namespace capstan
