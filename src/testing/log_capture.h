// Log lines kept in memory, for tests and for the log of a simulated run.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace capstan {

// One captured message.
struct LogRecord {
  LogLevel level;
  std::string prefix;
  std::string message;
  // The line as it would have been written, without the newline.
  std::string line;
};

// Keeps everything that its loggers write, without limit. Thread-safe. Its
// loggers may outlive it.
class LogCapture {
 public:
  LogCapture();
  ~LogCapture();
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // A logger that writes here. May be called several times.
  Logger NewLogger(const LogOptions& options = {}) const;

  // All records so far, oldest first; and their lines, each with a newline.
  std::vector<LogRecord> Records() const;
  std::string Text() const;

  // Whether any line so far contains `text`.
  bool Contains(std::string_view text) const;

  void Clear();

 private:
  class Sink;
  // Shared with the loggers.
  std::shared_ptr<Sink> sink_;
};

}  // namespace capstan
