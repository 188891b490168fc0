#include "testing/log_capture.h"

#include <spdlog/sinks/base_sink.h>

#include <mutex>
#include <utility>

namespace capstan {
namespace {

LogLevel FromSpdlog(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
      return LogLevel::kTrace;
    case spdlog::level::debug:
      return LogLevel::kDebug;
    case spdlog::level::info:
      return LogLevel::kInfo;
    case spdlog::level::warn:
      return LogLevel::kWarning;
    default:
      return LogLevel::kError;
  }
}

}  // namespace

class LogCapture::Sink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<LogRecord> Records() {
    std::lock_guard<std::mutex> lock(mutex_);
    return records_;
  }
  void Clear() {
    std::lock_guard<std::mutex> lock(mutex_);
    records_.clear();
  }

 protected:
  // Called by the base class, which holds mutex_.
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string text(line.data(), line.size());
    if (!text.empty() && text.back() == '\n') text.pop_back();
    records_.push_back(
        {.level = FromSpdlog(message.level),
         .prefix = std::string(message.logger_name.data(),
                               message.logger_name.size()),
         .message = std::string(message.payload.data(), message.payload.size()),
         .line = std::move(text)});
  }
  void flush_() override {}

 private:
  // Guarded by the base class's mutex_.
  std::vector<LogRecord> records_;
};

LogCapture::LogCapture() : sink_(std::make_shared<Sink>()) {}
LogCapture::~LogCapture() = default;

Logger LogCapture::NewLogger(const LogOptions& options) const {
  return Logger::ToSink(options, sink_);
}

std::vector<LogRecord> LogCapture::Records() const { return sink_->Records(); }

std::string LogCapture::Text() const {
  std::string text;
  for (const LogRecord& record : Records()) {
    text += record.line;
    text += '\n';
  }
  return text;
}

bool LogCapture::Contains(std::string_view text) const {
  for (const LogRecord& record : Records()) {
    if (record.line.find(text) != std::string::npos) return true;
  }
  return false;
}

void LogCapture::Clear() { sink_->Clear(); }

}  // namespace capstan
