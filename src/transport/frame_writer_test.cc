#include "transport/frame_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/sim_clock.h"
#include "testing/scripted_stream.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using testing::IsOk;
using testing::ScriptedStream;

struct Frame {
  FrameHeader header;
  std::string payload;
};

// Parses what was written; fails the test if it is not a series of whole
// frames.
std::vector<Frame> Parse(std::string_view bytes) {
  std::vector<Frame> frames;
  while (bytes.size() >= kHeaderBytes) {
    const auto header =
        DecodeHeader(AsBytes(bytes).first<kHeaderBytes>(), FrameLimits());
    EXPECT_THAT(header, IsOk());
    if (!header.ok()) return frames;
    bytes.remove_prefix(kHeaderBytes);
    uint64_t size = PrefixBytes(*header);
    if (IsInline(*header) || header->kind == FrameKind::kData) {
      size += header->attachment_bytes;
    }
    EXPECT_LE(size, bytes.size());
    frames.push_back({*header, std::string(bytes.substr(0, size))});
    bytes.remove_prefix(std::min<size_t>(size, bytes.size()));
  }
  EXPECT_EQ(bytes.size(), 0u);
  return frames;
}

Task<> RunWriter(FrameWriter& writer, std::optional<absl::Status>& ended) {
  ended = co_await writer.Run();
}

Task<> WithdrawFrom(FrameWriter& writer,
                    std::shared_ptr<OutgoingMessage> message, bool& done) {
  co_await writer.Withdraw(std::move(message));
  done = true;
}

class FrameWriterTest : public ::testing::Test {
 protected:
  FrameWriterTest() {
    Spawn(context_.get_executor(), RunWriter(writer_, ended_));
    Poll();
  }

  void Poll() {
    context_.restart();
    context_.poll();
  }

  std::shared_ptr<OutgoingMessage> Message(uint64_t id,
                                           std::vector<Bytes> attachments) {
    FrameHeader header;
    header.kind = FrameKind::kResponse;
    header.request_id = id;
    return std::make_shared<OutgoingMessage>(header, "body",
                                             std::move(attachments), nullptr);
  }

  std::vector<Frame> Written() { return Parse(stream_.output()); }

  asio::io_context context_;
  ScriptedStream stream_{context_.get_executor()};
  SimClock clock_;
  FrameWriter writer_{stream_, clock_, context_.get_executor()};
  std::optional<absl::Status> ended_;
};

std::vector<FrameKind> Kinds(const std::vector<Frame>& frames) {
  std::vector<FrameKind> kinds;
  for (const Frame& frame : frames) kinds.push_back(frame.header.kind);
  return kinds;
}

TEST_F(FrameWriterTest, SmallMessagesGoOutInOneWrite) {
  stream_.AllowWrites(SIZE_MAX);
  const std::string data(2000, 'x');
  writer_.Send(Message(1, {AsBytes(data), AsBytes("yz")}));
  writer_.Send(Message(2, {}));
  Poll();
  EXPECT_EQ(stream_.writes(), 1);
  const std::vector<Frame> frames = Written();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].header.attachment_bytes, 2002u);
  EXPECT_EQ(frames[0].payload.substr(16), "body" + data + "yz");
  EXPECT_EQ(frames[1].payload, "body");
}

TEST_F(FrameWriterTest, MessagesAreReleasedOnceWritten) {
  const std::string data(2000, 'x');
  auto owner = std::make_shared<int>(1);
  FrameHeader header;
  header.kind = FrameKind::kResponse;
  header.request_id = 1;
  auto message = std::make_shared<OutgoingMessage>(
      header, "", std::vector<Bytes>{AsBytes(data)}, owner);
  writer_.Send(message);
  Poll();
  EXPECT_FALSE(message->released());
  EXPECT_EQ(owner.use_count(), 2);
  stream_.AllowWrites(SIZE_MAX);
  Poll();
  EXPECT_TRUE(message->released());
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(FrameWriterTest, LargeAttachmentsComeInPiecesThatAddUp) {
  const size_t bytes = 2 * kMaxPieceBytes + 12345;
  std::string data(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<char>(i * 7 / 5);
  // Attachments of all sizes, including empty ones, at odd offsets.
  std::vector<Bytes> attachments;
  size_t at = 0;
  for (size_t size = 0; at < bytes; size = size * 3 + 1) {
    const size_t part = std::min(size, bytes - at);
    attachments.push_back(AsBytes(data).subspan(at, part));
    attachments.push_back({});
    at += part;
  }
  stream_.set_write_chunk(70'001);
  stream_.AllowWrites(SIZE_MAX);
  writer_.Send(Message(1, attachments));
  Poll();
  const std::vector<Frame> frames = Written();
  std::string received;
  for (size_t i = 1; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].header.kind, FrameKind::kData);
    received += frames[i].payload;
  }
  EXPECT_EQ(frames[0].header.kind, FrameKind::kResponse);
  EXPECT_TRUE(received == data);
}

TEST_F(FrameWriterTest, ThousandsOfTinyAttachmentsShareFewWrites) {
  const std::string data(16, 't');
  stream_.AllowWrites(SIZE_MAX);
  writer_.Send(Message(1, std::vector<Bytes>(60'000, AsBytes(data))));
  Poll();
  EXPECT_LE(stream_.writes(), 3);
  uint64_t bytes = 0;
  for (const Frame& frame : Written()) {
    if (frame.header.kind == FrameKind::kData) bytes += frame.payload.size();
  }
  EXPECT_EQ(bytes, 960'000u);
}

TEST_F(FrameWriterTest, SmallFramesPassBetweenThePiecesOfALargeOne) {
  const std::string data(3 * kMaxPieceBytes, 'x');
  stream_.AllowWrites(1000);
  writer_.Send(Message(1, {AsBytes(data)}));
  Poll();
  writer_.Send(Message(2, {}));
  FrameHeader ping;
  ping.kind = FrameKind::kPing;
  writer_.SendControl(ping);
  stream_.AllowWrites(SIZE_MAX / 2);
  Poll();
  EXPECT_THAT(
      Kinds(Written()),
      ElementsAre(FrameKind::kResponse, FrameKind::kData, FrameKind::kPing,
                  FrameKind::kResponse, FrameKind::kData, FrameKind::kData));
}

TEST_F(FrameWriterTest, WithdrawOfAQueuedMessageSendsNothingOfIt) {
  const std::string data(2000, 'x');
  writer_.Send(Message(1, {}));  // in the batch that is being written
  Poll();
  auto message = Message(2, {AsBytes(data)});
  writer_.Send(message);
  bool done = false;
  Spawn(context_.get_executor(), WithdrawFrom(writer_, message, done));
  Poll();
  EXPECT_TRUE(done);
  EXPECT_TRUE(message->released());
  stream_.AllowWrites(SIZE_MAX);
  Poll();
  EXPECT_EQ(Written().size(), 1u);
}

TEST_F(FrameWriterTest, WithdrawOfAHalfWrittenMessageFreesItsMemoryAtOnce) {
  auto data = std::make_unique<std::string>(3 * kMaxPieceBytes, 'x');
  auto message = Message(1, {AsBytes(*data)});
  writer_.Send(message);
  stream_.AllowWrites(5000);  // then the peer stops reading
  Poll();
  bool done = false;
  Spawn(context_.get_executor(), WithdrawFrom(writer_, message, done));
  Poll();
  EXPECT_TRUE(done) << "waits for a peer that does not read";
  data.reset();  // a sanitizer would see any use from here on
  stream_.AllowWrites(SIZE_MAX / 2);
  Poll();
  const std::vector<Frame> frames = Written();
  EXPECT_THAT(Kinds(frames), ElementsAre(FrameKind::kResponse, FrameKind::kData,
                                         FrameKind::kAbort));
  EXPECT_EQ(frames[1].payload, std::string(kMaxPieceBytes, 'x'));
}

TEST_F(FrameWriterTest, OthersInTheBatchSurviveAWithdrawal) {
  const std::string mine(3000, 'm');
  const std::string other(3000, 'o');
  auto message = Message(1, {AsBytes(mine)});
  writer_.Send(message);
  writer_.Send(Message(2, {AsBytes(other)}));
  stream_.AllowWrites(100);
  Poll();
  bool done = false;
  Spawn(context_.get_executor(), WithdrawFrom(writer_, message, done));
  Poll();
  EXPECT_TRUE(done);
  stream_.AllowWrites(SIZE_MAX / 2);
  Poll();
  const std::vector<Frame> frames = Written();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[1].payload.substr(8), "body" + other);
}

TEST_F(FrameWriterTest, StopEndsAfterWhatWasSent) {
  writer_.Send(Message(1, {}));
  writer_.Stop();
  Poll();
  EXPECT_FALSE(ended_.has_value());
  stream_.AllowWrites(SIZE_MAX);
  Poll();
  ASSERT_TRUE(ended_.has_value());
  EXPECT_THAT(*ended_, IsOk());
  EXPECT_EQ(Written().size(), 1u);
}

TEST_F(FrameWriterTest, AFailureReleasesEverything) {
  const std::string data(2000, 'x');
  auto first = Message(1, {AsBytes(data)});
  auto second = Message(2, {AsBytes(data)});
  writer_.Send(first);
  Poll();
  writer_.Send(second);
  stream_.Close();
  Poll();
  ASSERT_TRUE(ended_.has_value());
  EXPECT_FALSE(ended_->ok());
  EXPECT_TRUE(first->released());
  EXPECT_TRUE(second->released());
  auto late = Message(3, {AsBytes(data)});
  writer_.Send(late);
  EXPECT_TRUE(late->released());
}

}  // namespace
}  // namespace capstan
