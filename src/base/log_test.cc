#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "testing/log_capture.h"
#include "testing/status_matchers.h"

// A type that counts how often it is formatted, to check that a silent logger
// formats nothing.
struct FormatCounted {
  int* formatted;
};
template <>
struct fmt::formatter<FormatCounted> {
  constexpr auto parse(format_parse_context& context) {
    return context.begin();
  }
  auto format(const FormatCounted& value, format_context& context) const {
    ++*value.formatted;
    return context.out();
  }
};

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr LogLevel kAllLevels[] = {LogLevel::kTrace, LogLevel::kDebug,
                                   LogLevel::kInfo,  LogLevel::kWarning,
                                   LogLevel::kError, LogLevel::kOff};

TEST(LogLevelTest, NamesAreParsedBack) {
  for (LogLevel level : kAllLevels) {
    EXPECT_THAT(ParseLogLevel(LogLevelName(level)), IsOkAndHolds(level));
  }
}

TEST(LogLevelTest, UnknownNameListsTheValidOnes) {
  EXPECT_THAT(
      ParseLogLevel("loud"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("\"loud\""),
                     HasSubstr("trace, debug, info, warning, error, off"))));
  for (std::string_view text : {"", "INFO", "info ", "warn"}) {
    EXPECT_THAT(ParseLogLevel(text),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  }
}

TEST(LogTest, LineHasTimeLevelPrefixAndMessage) {
  LogCapture capture;
  const Logger logger = capture.NewLogger(
      {.prefix = "worker/1", .clock = [] {
         return std::chrono::system_clock::time_point(
             std::chrono::microseconds(1'700'000'000'123'456));
       }});
  logger.Warning("lost {} of {}", "ps/0", 3);
  ASSERT_EQ(capture.Records().size(), 1u);
  const LogRecord record = capture.Records()[0];
  EXPECT_EQ(record.line,
            "2023-11-14T22:13:20.123456Z W worker/1: lost ps/0 of 3");
  EXPECT_EQ(record.level, LogLevel::kWarning);
  EXPECT_EQ(record.prefix, "worker/1");
  EXPECT_EQ(record.message, "lost ps/0 of 3");
}

TEST(LogTest, TimeIsVirtualInSimulation) {
  std::chrono::seconds now(0);
  LogCapture capture;
  const Logger logger = capture.NewLogger(
      {.clock = [&] { return std::chrono::system_clock::time_point(now); }});
  logger.Info("a");
  now = std::chrono::seconds(61);
  logger.Info("b");
  EXPECT_EQ(capture.Text(),
            "1970-01-01T00:00:00.000000Z I capstan: a\n"
            "1970-01-01T00:01:01.000000Z I capstan: b\n");
}

TEST(LogTest, EachLevelLetsThroughItselfAndAbove) {
  for (LogLevel level : kAllLevels) {
    LogCapture capture;
    const Logger logger = capture.NewLogger({.level = level});
    logger.Trace("trace");
    logger.Debug("debug");
    logger.Info("info");
    logger.Warning("warning");
    logger.Error("error");
    logger.Log(LogLevel::kOff, "never");
    const auto records = capture.Records();
    ASSERT_EQ(records.size(), 5 - static_cast<size_t>(level));
    for (const LogRecord& record : records) {
      EXPECT_GE(record.level, level);
      EXPECT_EQ(record.message, LogLevelName(record.level));
      EXPECT_TRUE(logger.Enabled(record.level));
    }
  }
}

TEST(LogTest, SilentLevelFormatsNothing) {
  int formatted = 0;
  int clock_reads = 0;
  LogCapture capture;
  const Logger logger =
      capture.NewLogger({.level = LogLevel::kInfo, .clock = [&] {
                           ++clock_reads;
                           return std::chrono::system_clock::time_point();
                         }});
  logger.Debug("{}", FormatCounted{&formatted});
  EXPECT_EQ(formatted, 0);
  EXPECT_EQ(clock_reads, 0);
  logger.Info("{}", FormatCounted{&formatted});
  EXPECT_EQ(formatted, 1);
  EXPECT_EQ(clock_reads, 1);
}

TEST(LogTest, DefaultLoggerDropsEverything) {
  const Logger logger;
  EXPECT_FALSE(logger.Enabled(LogLevel::kError));
  logger.Error("nobody hears {}", "this");
  logger.WithPrefix("x").Error("nor this");
}

TEST(LogTest, ControlCharactersCannotForgeALine) {
  LogCapture capture;
  const Logger logger = capture.NewLogger();
  logger.Info("peer says {}", "a\n2023 I ps/0: all well\r\t\x1b[31m\x7f é");
  const std::string text = capture.Text();
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_THAT(text, EndsWith("peer says a\\n2023 I ps/0: all well\\x0d\\t"
                             "\\x1b[31m\\x7f é\n"));
}

TEST(LogTest, BracesInArgumentsAreText) {
  LogCapture capture;
  capture.NewLogger().Info("{}", "{} %v %n {0}");
  EXPECT_EQ(capture.Records()[0].message, "{} %v %n {0}");
}

TEST(LogTest, LongMessageIsWhole) {
  LogCapture capture;
  const std::string text(100000, 'x');
  capture.NewLogger().Info("{}", text);
  EXPECT_EQ(capture.Records()[0].message, text);
}

TEST(LogTest, WithPrefixSharesTheSink) {
  LogCapture capture;
  const Logger logger = capture.NewLogger({.prefix = "launch"});
  logger.WithPrefix("ps/3").Info("up");
  logger.Info("started");
  const auto records = capture.Records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].prefix, "ps/3");
  EXPECT_EQ(records[1].prefix, "launch");
}

TEST(LogTest, LoggersDoNotShareAName) {
  // spdlog's registry refuses a second logger of the same name; ours are not
  // registered.
  LogCapture capture;
  const Logger one = capture.NewLogger({.prefix = "same"});
  const Logger two = capture.NewLogger({.prefix = "same"});
  one.Info("1");
  two.Info("2");
  EXPECT_EQ(capture.Records().size(), 2u);
}

TEST(LogTest, LoggerMayOutliveTheCapture) {
  Logger logger;
  {
    LogCapture capture;
    logger = capture.NewLogger();
  }
  logger.Info("into the void");
}

TEST(LogTest, BadDynamicArgumentDoesNotThrow) {
  LogCapture capture;
  capture.NewLogger().Info("{:{}}", 1, -5);
  capture.NewLogger().Info("next");
  EXPECT_TRUE(capture.Contains("next"));
}

TEST(LogTest, ThreadsDoNotMixLines) {
  constexpr int kThreads = 4;
  constexpr int kLines = 500;
  LogCapture capture;
  const Logger logger = capture.NewLogger();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&logger, t] {
      const Logger mine = logger.WithPrefix("worker/" + std::to_string(t));
      for (int i = 0; i < kLines; ++i) mine.Info("{}-{}", t, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<int> next(kThreads, 0);
  for (const LogRecord& record : capture.Records()) {
    const auto t = static_cast<size_t>(record.message[0] - '0');
    EXPECT_EQ(record.message,
              std::to_string(t) + "-" + std::to_string(next[t]++));
    EXPECT_EQ(record.prefix, "worker/" + std::to_string(t));
  }
  EXPECT_EQ(next, std::vector<int>(kThreads, kLines));
}

TEST(LogTest, StderrGetsTheSameLines) {
  ::testing::internal::CaptureStderr();
  Logger::ToStderr({.prefix = "ps/1"}).Error("disk {}", "full");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              MatchesRegex("20[0-9-]+T[0-9:.]+Z E ps/1: disk full\n"));
}

TEST(LogCaptureTest, ContainsAndClear) {
  LogCapture capture;
  capture.NewLogger().Info("hello");
  EXPECT_TRUE(capture.Contains("hell"));
  EXPECT_FALSE(capture.Contains("heaven"));
  capture.Clear();
  EXPECT_EQ(capture.Text(), "");
  EXPECT_TRUE(capture.Records().empty());
}

}  // namespace
}  // namespace capstan
