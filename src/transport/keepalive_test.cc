#include "transport/keepalive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <optional>

#include "simulation/sim_clock.h"
#include "testing/scripted_stream.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ScriptedStream;
using testing::StatusIs;

class KeepaliveTest : public ::testing::Test {
 protected:
  void Start(LivenessOptions options) {
    stream_.AllowWrites(SIZE_MAX);
    Spawn(context_.get_executor(), Read(*this));
    Spawn(context_.get_executor(), Write(*this));
    Spawn(context_.get_executor(), Watch(*this, options));
    RunFor(milliseconds(0));
  }

  void RunFor(Duration duration) {
    const MonotonicTime end = clock_.Now() + duration;
    for (;;) {
      context_.restart();
      context_.poll();
      if (clock_.NextTime() > end) break;
      clock_.RunNext();
    }
    clock_.AdvanceTo(end);
  }

  size_t pings() const { return stream_.output().size() / kHeaderBytes; }

  static Task<> Read(KeepaliveTest& test) {
    for (;;) {
      absl::StatusOr<FrameHeader> header = co_await test.reader_.ReadHeader();
      if (!header.ok()) co_return;
    }
  }
  static Task<> Write(KeepaliveTest& test) {
    absl::Status ignored = co_await test.writer_.Run();
    (void)ignored;
  }
  static Task<> Watch(KeepaliveTest& test, LivenessOptions options) {
    test.verdict_ =
        co_await WatchLiveness(test.clock_, *test.timer_, test.reader_,
                               test.writer_, options, test.stopped_);
  }

  std::string Ping() {
    FrameHeader header;
    std::string bytes(kHeaderBytes, '\0');
    EncodeHeader(
        header, std::as_writable_bytes(std::span(bytes)).first<kHeaderBytes>());
    return bytes;
  }

  SimClock clock_;  // outlives what sleeps on it
  asio::io_context context_;
  ScriptedStream stream_{context_.get_executor()};
  FrameReader reader_{stream_, clock_, FrameLimits()};
  FrameWriter writer_{stream_, clock_, context_.get_executor()};
  std::unique_ptr<Timer> timer_ = clock_.NewTimer(context_.get_executor());
  bool stopped_ = false;
  std::optional<absl::Status> verdict_;
};

TEST_F(KeepaliveTest, PingsASilentPeerAndGivesItUpWithinTwoSeconds) {
  Start({});
  RunFor(milliseconds(400));
  EXPECT_EQ(pings(), 0u);
  RunFor(milliseconds(300));
  EXPECT_GE(pings(), 1u);
  EXPECT_FALSE(verdict_.has_value());
  RunFor(milliseconds(1300));
  ASSERT_TRUE(verdict_.has_value());
  EXPECT_THAT(*verdict_, StatusIs(absl::StatusCode::kUnavailable,
                                  HasSubstr("no sign of life")));
}

TEST_F(KeepaliveTest, APeerThatAnswersLives) {
  Start({});
  for (int i = 0; i < 20; ++i) {
    RunFor(milliseconds(900));
    stream_.Put(Ping());
  }
  EXPECT_FALSE(verdict_.has_value());
}

TEST_F(KeepaliveTest, OnABulkLaneOnlyAStallInsideAMessageCounts) {
  LivenessOptions options;
  options.ping = false;
  Start(options);
  RunFor(std::chrono::hours(1));
  EXPECT_EQ(pings(), 0u);
  EXPECT_FALSE(verdict_.has_value());
  stream_.Put(Ping().substr(0, 20));
  RunFor(milliseconds(4900));
  EXPECT_FALSE(verdict_.has_value());
  RunFor(milliseconds(600));
  ASSERT_TRUE(verdict_.has_value());
  EXPECT_THAT(*verdict_, StatusIs(absl::StatusCode::kUnavailable,
                                  HasSubstr("middle of a message")));
}

TEST_F(KeepaliveTest, AMessageMustGoOnFromOneFrameToTheNext) {
  LivenessOptions options;
  options.ping = false;
  Start(options);
  reader_.set_message_begun(true);
  for (int i = 0; i < 3; ++i) {
    RunFor(milliseconds(4000));
    stream_.Put(Ping());
  }
  EXPECT_FALSE(verdict_.has_value());
  RunFor(milliseconds(5500));
  ASSERT_TRUE(verdict_.has_value());
  EXPECT_THAT(*verdict_, StatusIs(absl::StatusCode::kUnavailable,
                                  HasSubstr("middle of a message")));
}

TEST_F(KeepaliveTest, BeingStoppedOurselvesIsNotHeldAgainstThePeer) {
  Start({});
  RunFor(milliseconds(100));
  // SIGSTOP for a minute: time passes, nothing runs.
  while (clock_.NextTime() != kNever) clock_.RunNext();
  clock_.AdvanceTo(clock_.Now() + std::chrono::seconds(60));
  RunFor(milliseconds(0));
  EXPECT_FALSE(verdict_.has_value());
  RunFor(milliseconds(1000));
  EXPECT_FALSE(verdict_.has_value());
}

TEST_F(KeepaliveTest, EndsQuietlyWhenStopped) {
  Start({});
  stopped_ = true;
  timer_->Cancel();
  RunFor(milliseconds(0));
  ASSERT_TRUE(verdict_.has_value());
  EXPECT_THAT(*verdict_, IsOk());
}

}  // namespace
}  // namespace capstan
