#include "transport/frame_reader.h"

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

using testing::IsOk;
using testing::ScriptedStream;
using testing::StatusIs;

class FrameReaderTest : public ::testing::TestWithParam<size_t> {
 protected:
  FrameReaderTest() { stream_.set_read_chunk(GetParam()); }

  void Poll() {
    context_.restart();
    context_.poll();
  }

  SimClock clock_;  // outlives what sleeps on it
  asio::io_context context_;
  ScriptedStream stream_{context_.get_executor()};
  FrameReader reader_{stream_, clock_, FrameLimits()};
};

std::string Request(uint64_t id, std::string_view body,
                    std::vector<Bytes> attachments) {
  FrameHeader header;
  header.kind = FrameKind::kRequest;
  header.request_id = id;
  header.timeout_us = 1;
  std::string bytes = EncodeHead(header, body, attachments);
  for (const Bytes& attachment : attachments) bytes += AsText(attachment);
  return bytes;
}

struct Got {
  FrameHeader header;
  MessagePrefix prefix;
  std::string data;
};

Task<> ReadMessages(FrameReader& reader, int count, std::vector<Got>& got) {
  for (int i = 0; i < count; ++i) {
    Got message;
    absl::StatusOr<FrameHeader> header = co_await reader.ReadHeader();
    EXPECT_THAT(header, IsOk());
    if (!header.ok()) co_return;
    message.header = *header;
    absl::StatusOr<MessagePrefix> prefix =
        co_await reader.ReadPrefix(message.header);
    EXPECT_THAT(prefix, IsOk());
    if (!prefix.ok()) co_return;
    message.prefix = *std::move(prefix);
    message.data.resize(message.header.attachment_bytes);
    MutableBytes into = std::as_writable_bytes(std::span(message.data));
    absl::Status status = co_await reader.Read(into);
    EXPECT_THAT(status, IsOk());
    got.push_back(std::move(message));
  }
}

TEST_P(FrameReaderTest, ReadsFramesWhateverTheyAreCutInto) {
  const std::string a(40'000, 'a');
  const std::string b(100, 'b');
  std::vector<Got> got;
  Spawn(context_.get_executor(), ReadMessages(reader_, 3, got));
  stream_.Put(Request(1, "one", {AsBytes(a), AsBytes(b)}));
  stream_.Put(Request(2, "", {}));
  stream_.Put(Request(3, "three", {AsBytes(b)}));
  Poll();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].prefix.body, "one");
  EXPECT_EQ(got[0].prefix.lengths, (std::vector<uint64_t>{40'000, 100}));
  EXPECT_TRUE(got[0].data == a + b);
  EXPECT_EQ(got[1].prefix.body, "");
  EXPECT_EQ(got[2].prefix.body, "three");
  EXPECT_EQ(got[2].data, b);
}

Task<> ReadPlaced(FrameReader& reader, std::shared_ptr<Destination> into,
                  uint64_t bytes, std::optional<absl::Status>& result) {
  result = co_await reader.ReadInto(std::move(into), 0, bytes);
}

TEST_P(FrameReaderTest, ReadIntoScattersAndStopsWhereItShould) {
  std::string a(10, '\0');
  std::string b(30'000, '\0');
  auto into = std::make_shared<Destination>();
  into->views = {std::as_writable_bytes(std::span(a)), MutableBytes(),
                 std::as_writable_bytes(std::span(b))};
  std::string data;
  for (int i = 0; i < 30'010; ++i) data.push_back(static_cast<char>(i % 127));
  std::optional<absl::Status> result;
  std::vector<Got> got;
  Spawn(context_.get_executor(), ReadPlaced(reader_, into, 30'010, result));
  stream_.Put(data);
  stream_.Put(Request(9, "after", {}));
  Poll();
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(*result, IsOk());
  EXPECT_TRUE(a + b == data);
  Spawn(context_.get_executor(), ReadMessages(reader_, 1, got));
  Poll();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].prefix.body, "after");
}

TEST_P(FrameReaderTest, AbandonedMemoryIsLetGoAndTheRestReadPast) {
  auto memory = std::make_unique<std::string>(1000, '.');
  auto into = std::make_shared<Destination>();
  into->views = {std::as_writable_bytes(std::span(*memory))};
  bool released = false;
  into->released = [&] { released = true; };
  std::optional<absl::Status> result;
  Spawn(context_.get_executor(), ReadPlaced(reader_, into, 1000, result));
  stream_.Put(std::string(400, 'x'));
  Poll();
  into->abandoned = true;
  stream_.Interrupt();
  Poll();
  EXPECT_TRUE(released);
  EXPECT_FALSE(result.has_value());
  memory.reset();  // a sanitizer would see any use from here on
  stream_.Put(std::string(600, 'x'));
  stream_.Put(Request(1, "next", {}));
  std::vector<Got> got;
  Poll();
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(*result, IsOk());
  Spawn(context_.get_executor(), ReadMessages(reader_, 1, got));
  Poll();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].prefix.body, "next");
}

Task<> ReadOneHeader(FrameReader& reader,
                     std::optional<absl::StatusOr<FrameHeader>>& result) {
  result = co_await reader.ReadHeader();
}

TEST_P(FrameReaderTest, TellsAQuietPeerFromOneThatStopsInsideAFrame) {
  std::optional<absl::StatusOr<FrameHeader>> result;
  Spawn(context_.get_executor(), ReadOneHeader(reader_, result));
  Poll();
  EXPECT_TRUE(reader_.waiting());
  EXPECT_FALSE(reader_.inside_message());
  clock_.AdvanceTo(clock_.Now() + std::chrono::seconds(1));
  stream_.Put(Request(1, "", {}).substr(0, 10));
  Poll();
  EXPECT_TRUE(reader_.inside_message());
  EXPECT_EQ(reader_.last_heard(), clock_.Now());
  stream_.Close();
  Poll();
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(*result, StatusIs(absl::StatusCode::kUnavailable));
}

INSTANTIATE_TEST_SUITE_P(ChunkSizes, FrameReaderTest,
                         ::testing::Values(1, 7, 56, 57, 4096, 1 << 20));

}  // namespace
}  // namespace capstan
