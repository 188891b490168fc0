// The contract of a transport: answers go where the caller wants them, within
// the bounds that it set.
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/transport_contract.h"

namespace capstan::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Memory = std::vector<std::byte>;

CallOptions ReceiveInto(std::vector<MutableBytes> views) {
  CallOptions options;
  options.receive_into = std::move(views);
  return options;
}

TEST_P(TransportContract, ReceiveIntoTheCallersMemory) {
  const auto client = StartAndConnect();
  for (const uint64_t size : {uint64_t{100}, kInlineBytes + 1, 8 * kMiB + 3}) {
    Memory first(size, kPoison);
    Memory second(size, kPoison);
    const absl::StatusOr<Reply> reply =
        client->Call(kGenerate, "2 " + std::to_string(size), {},
                     ReceiveInto({first, second}));
    ASSERT_OK(reply);
    ASSERT_EQ(reply->attachments.size(), 2u);
    EXPECT_EQ(reply->attachments[0].data(), first.data());
    EXPECT_EQ(reply->attachments[1].data(), second.data());
    EXPECT_EQ(reply->storage.size(), 0u);
    EXPECT_TRUE(IsPattern(0, first));
    EXPECT_TRUE(IsPattern(1, second));
  }
}

TEST_P(TransportContract, ReceiveIntoMoreRoomThanNeeded) {
  const auto client = StartAndConnect();
  for (const uint64_t size : {uint64_t{10}, 300 * kKiB}) {
    Memory first(size + 50, kPoison);
    Memory second(size + 1, kPoison);
    const absl::StatusOr<Reply> reply =
        client->Call(kGenerate, "2 " + std::to_string(size), {},
                     ReceiveInto({first, second}));
    ASSERT_OK(reply);
    ASSERT_EQ(reply->attachments.size(), 2u);
    EXPECT_EQ(reply->attachments[0].size(), size);
    EXPECT_EQ(reply->attachments[1].size(), size);
    EXPECT_TRUE(IsPattern(0, reply->attachments[0]));
    EXPECT_TRUE(IsPattern(1, reply->attachments[1]));
    EXPECT_TRUE(AllAre(kPoison, Bytes(first).subspan(size)));
    EXPECT_TRUE(AllAre(kPoison, Bytes(second).subspan(size)));
  }
}

TEST_P(TransportContract, ReceiveIntoManyViews) {
  const auto client = StartAndConnect();
  constexpr size_t kCount = 3 * kMaxViews;
  constexpr size_t kSize = 2'000;
  Memory memory(kCount * kSize, kPoison);
  std::vector<MutableBytes> views;
  for (size_t i = 0; i < kCount; ++i) {
    views.push_back(MutableBytes(memory).subspan(i * kSize, kSize));
  }
  ASSERT_OK(client->Call(kGenerate,
                         std::to_string(kCount) + " " + std::to_string(kSize),
                         {}, ReceiveInto(views)));
  for (size_t i = 0; i < kCount; ++i) EXPECT_TRUE(IsPattern(i, views[i]));
}

TEST_P(TransportContract, ReceiveIntoEmptyViews) {
  const auto client = StartAndConnect();
  const std::vector<MutableBytes> views(3);
  const absl::StatusOr<Reply> reply =
      client->Call(kGenerate, "3 0", {}, ReceiveInto(views));
  ASSERT_OK(reply);
  EXPECT_EQ(reply->attachments.size(), 3u);
}

TEST_P(TransportContract, ReceiveIntoWrongNumberOfViews) {
  const auto client = StartAndConnect();
  for (const uint64_t size : {uint64_t{100}, 300 * kKiB}) {
    const std::string two = "2 " + std::to_string(size);
    Memory one(2 * size, kPoison);
    EXPECT_THAT(client->Call(kGenerate, two, {}, ReceiveInto({one})),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("2"), HasSubstr("1"))));
    EXPECT_THAT(client->Call(kGenerate, two, {}, ReceiveInto({one, one, one})),
                StatusIs(absl::StatusCode::kInvalidArgument));
    // No room at all: the server does not even send it.
    EXPECT_THAT(client->Call(kGenerate, two, {}, ReceiveInto({})),
                StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_TRUE(AllAre(kPoison, one));
    ExpectEcho(*client);
  }
}

TEST_P(TransportContract, ReceiveIntoTooSmallAView) {
  const auto client = StartAndConnect();
  for (const uint64_t size : {uint64_t{100}, 300 * kKiB}) {
    Memory memory(2 * size, kPoison);
    const MutableBytes whole(memory);
    // The sum would fit; the second view alone does not.
    const absl::StatusOr<Reply> reply = client->Call(
        kGenerate, "2 " + std::to_string(size), {},
        ReceiveInto({whole.first(size + 1), whole.subspan(size + 1)}));
    EXPECT_THAT(reply, StatusIs(absl::StatusCode::kInvalidArgument,
                                HasSubstr(std::to_string(size))));
    EXPECT_EQ(TaskOf(reply.status()), "ps/0");
    EXPECT_TRUE(AllAre(kPoison, memory));
    ExpectEcho(*client);
  }
}

TEST_P(TransportContract, ReplyUpToTheLimitExactly) {
  const auto client = StartAndConnect();
  for (const uint64_t size :
       {uint64_t{0}, uint64_t{1}, kInlineBytes, kInlineBytes + 1, 2 * kMiB}) {
    CallOptions options;
    options.reply_limit = size;
    const absl::StatusOr<Reply> reply =
        client->Call(kGenerate, "1 " + std::to_string(size), {}, options);
    ASSERT_OK(reply);
    EXPECT_TRUE(IsPattern(0, reply->attachments[0]));
  }
}

TEST_P(TransportContract, ReplyOverTheLimit) {
  const auto client = StartAndConnect();
  for (const uint64_t size : {uint64_t{10}, kInlineBytes, 2 * kMiB}) {
    CallOptions options;
    options.reply_limit = size - 1;
    const absl::StatusOr<Reply> reply =
        client->Call(kGenerate, "1 " + std::to_string(size), {}, options);
    EXPECT_THAT(reply, StatusIs(absl::StatusCode::kResourceExhausted,
                                AllOf(HasSubstr(std::to_string(size)),
                                      HasSubstr(std::to_string(size - 1)))));
    EXPECT_EQ(TaskOf(reply.status()), "ps/0");
    ExpectEcho(*client);
  }
  // The server lets go of what it did not send.
  Await([this] { return service().owners() == 0; });
}

TEST_P(TransportContract, ServerSeesTheReplyLimit) {
  const auto client = StartAndConnect();
  CallOptions options;
  options.reply_limit = 123'456;
  absl::StatusOr<Reply> reply = client->Call(kDescribe, "", {}, options);
  ASSERT_OK(reply);
  EXPECT_THAT(reply->body, ::testing::EndsWith(" 123456"));
}

// The views are the reply's own memory, aligned as tensors want it.
TEST_P(TransportContract, ReplyOwnsItsMemory) {
  const auto client = StartAndConnect();
  CallOptions options;
  options.reply_limit = kMiB;
  absl::StatusOr<Reply> reply = client->Call(kGenerate, "3 300", {}, options);
  ASSERT_OK(reply);
  const Reply moved = *std::move(reply);
  EXPECT_EQ(moved.storage.size(), 900u);
  EXPECT_EQ(moved.attachments[0].data(), moved.storage.data());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(IsPattern(i, moved.attachments[i]));
  }
}

}  // namespace
}  // namespace capstan::testing
