#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/formatter.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <exception>
#include <iterator>
#include <utility>

#include "absl/status/status.h"

namespace capstan {
namespace {

struct LevelRow {
  LogLevel level;
  std::string_view name;
  spdlog::level::level_enum spdlog;
};
constexpr std::array<LevelRow, 6> kLevels = {{
    {LogLevel::kTrace, "trace", spdlog::level::trace},
    {LogLevel::kDebug, "debug", spdlog::level::debug},
    {LogLevel::kInfo, "info", spdlog::level::info},
    {LogLevel::kWarning, "warning", spdlog::level::warn},
    {LogLevel::kError, "error", spdlog::level::err},
    {LogLevel::kOff, "off", spdlog::level::off},
}};

const LevelRow& RowOf(LogLevel level) {
  return kLevels[static_cast<size_t>(level)];
}

// Formats lines as log.h describes. Not spdlog's pattern formatter, which
// prints the year 1900 during the first second of 1970, where virtual time may
// start.
class LineFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& line) override {
    namespace chrono = std::chrono;
    const auto time = chrono::floor<chrono::microseconds>(message.time);
    const auto day = chrono::floor<chrono::days>(time);
    const chrono::year_month_day date(day);
    const chrono::hh_mm_ss clock(time - day);
    fmt::format_to(std::back_inserter(line),
                   "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z {} {}: {}\n",
                   static_cast<int>(date.year()),
                   static_cast<unsigned>(date.month()),
                   static_cast<unsigned>(date.day()), clock.hours().count(),
                   clock.minutes().count(), clock.seconds().count(),
                   clock.subseconds().count(),
                   spdlog::level::to_short_c_str(message.level),
                   message.logger_name, message.payload);
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>();
  }
};

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

void EscapeInto(fmt::memory_buffer& out, std::string_view text) {
  for (char c : text) {
    if (!IsControl(c)) {
      out.push_back(c);
    } else if (c == '\n') {
      out.append(std::string_view("\\n"));
    } else if (c == '\t') {
      out.append(std::string_view("\\t"));
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}",
                     static_cast<unsigned>(c));
    }
  }
}

}  // namespace

absl::StatusOr<LogLevel> ParseLogLevel(std::string_view text) {
  std::string valid;
  for (const LevelRow& row : kLevels) {
    if (row.name == text) return row.level;
    valid += valid.empty() ? "" : ", ";
    valid += row.name;
  }
  return absl::InvalidArgumentError(
      fmt::format("unknown log level \"{}\"; the levels are {}", text, valid));
}

std::string_view LogLevelName(LogLevel level) { return RowOf(level).name; }

Logger::Logger() = default;
Logger::~Logger() = default;
Logger::Logger(const Logger&) = default;
Logger& Logger::operator=(const Logger&) = default;
Logger::Logger(Logger&&) noexcept = default;
Logger& Logger::operator=(Logger&&) noexcept = default;

Logger::Logger(const LogOptions& options,
               std::shared_ptr<spdlog::logger> spdlog)
    : level_(options.level), clock_(options.clock), spdlog_(std::move(spdlog)) {
  if (!clock_) clock_ = [] { return std::chrono::system_clock::now(); };
  // level_ does the filtering; spdlog passes on and flushes everything it gets.
  spdlog_->set_level(spdlog::level::trace);
  spdlog_->flush_on(spdlog::level::trace);
}

Logger Logger::ToStderr(const LogOptions& options) {
  return ToSink(options, std::make_shared<spdlog::sinks::stderr_sink_mt>());
}

Logger Logger::ToSink(const LogOptions& options,
                      std::shared_ptr<spdlog::sinks::sink> sink) {
  sink->set_formatter(std::make_unique<LineFormatter>());
  // Constructed by hand: spdlog's factories would register it globally.
  return Logger(options, std::make_shared<spdlog::logger>(options.prefix,
                                                          std::move(sink)));
}

Logger Logger::WithPrefix(std::string_view prefix) const {
  Logger result = *this;
  if (spdlog_) result.spdlog_ = spdlog_->clone(std::string(prefix));
  return result;
}

void Logger::Write(LogLevel level, fmt::string_view format,
                   fmt::format_args args) const noexcept {
  if (!spdlog_) return;
  try {
    fmt::memory_buffer message;
    fmt::vformat_to(std::back_inserter(message), format, args);
    fmt::memory_buffer line;
    EscapeInto(line, std::string_view(message.data(), message.size()));
    spdlog_->log(clock_(), spdlog::source_loc{}, RowOf(level).spdlog,
                 spdlog::string_view_t(line.data(), line.size()));
  } catch (const std::exception&) {
    // Out of memory, or an argument that cannot be formatted. A lost log line
    // is better than a dead process.
  }
}

}  // namespace capstan
