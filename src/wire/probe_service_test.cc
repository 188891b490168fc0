#include "wire/probe_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <asio/io_context.hpp>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::HasSubstr;

// A request whose attachments have all arrived.
class FakeCall final : public ServerCall {
 public:
  FakeCall(Method method, std::string body,
           const std::vector<std::string>& attachments)
      : method_(method), body_(std::move(body)) {
    for (const std::string& attachment : attachments) {
      sizes_.push_back(attachment.size());
      bytes_ += attachment;
    }
  }

  Method method() const override { return method_; }
  std::string_view body() const override { return body_; }
  const Hello& peer() const override { return peer_; }
  MonotonicTime deadline() const override { return kNever; }
  uint64_t reply_limit() const override { return uint64_t{1} << 30; }
  bool cancelled() const override { return false; }
  void OnCancel(std::function<void()>) override {}
  std::span<const uint64_t> attachment_sizes() const override { return sizes_; }

  Task<absl::Status> Receive(MutableBytes into) override {
    largest_piece_ = std::max(largest_piece_, into.size());
    if (fails_) co_return absl::UnavailableError("the peer is gone");
    std::memcpy(into.data(), bytes_.data() + place_, into.size());
    place_ += into.size();
    co_return absl::OkStatus();
  }

  Task<absl::StatusOr<Buffer>> ReceiveAll() override {
    absl::StatusOr<Buffer> all =
        Buffer::Allocate(bytes_.size() - place_, Fill::kNone);
    if (all->size() == 0) co_return all;
    absl::Status status = co_await Receive(all->mutable_bytes());
    if (!status.ok()) co_return status;
    co_return all;
  }

  void Fail() { fails_ = true; }
  size_t received() const { return place_; }
  size_t largest_piece() const { return largest_piece_; }

 private:
  const Method method_;
  const std::string body_;
  const Hello peer_;
  std::vector<uint64_t> sizes_;
  std::string bytes_;
  size_t place_ = 0;
  size_t largest_piece_ = 0;
  bool fails_ = false;
};

Task<> ServeInto(Service* service, ServerCall* call, ServerReply* reply) {
  *reply = co_await service->Serve(*call);
}

ServerReply Serve(Service& service, ServerCall& call) {
  asio::io_context context;
  ServerReply reply;
  reply.status = absl::InternalError("not served");
  Spawn(context.get_executor(), ServeInto(&service, &call, &reply));
  context.run();
  return reply;
}

TEST(ProbeServiceTest, SizeSurvivesEncoding) {
  for (uint64_t size : {uint64_t{0}, uint64_t{255}, ~uint64_t{0}}) {
    EXPECT_THAT(DecodeProbeSize(EncodeProbeSize(size)), IsOkAndHolds(size));
  }
  EXPECT_THAT(DecodeProbeSize("seven77"),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ProbeServiceTest, EchoAnswersBodyAndAttachments) {
  ProbeService service;
  FakeCall call(Method::kProbeEcho, "body", {"one", "", "three"});
  ServerReply reply = Serve(service, call);
  ASSERT_OK(reply.status);
  EXPECT_EQ(reply.body, "body");
  ASSERT_EQ(reply.attachments.size(), 3);
  EXPECT_EQ(AsText(reply.attachments[0]), "one");
  EXPECT_EQ(AsText(reply.attachments[1]), "");
  EXPECT_EQ(AsText(reply.attachments[2]), "three");
}

TEST(ProbeServiceTest, EchoOfNothing) {
  ProbeService service;
  FakeCall call(Method::kProbeEcho, "", {});
  ServerReply reply = Serve(service, call);
  EXPECT_OK(reply.status);
  EXPECT_TRUE(reply.attachments.empty());
}

TEST(ProbeServiceTest, SinkTakesPiecesAndAnswersTheSize) {
  ProbeService service;
  const std::string large((1 << 20) + 5, 'x');
  FakeCall call(Method::kProbeSink, "", {large, large});
  ServerReply reply = Serve(service, call);
  ASSERT_OK(reply.status);
  EXPECT_THAT(DecodeProbeSize(reply.body), IsOkAndHolds(2 * large.size()));
  EXPECT_EQ(call.received(), 2 * large.size());
  EXPECT_EQ(call.largest_piece(), 1 << 20);
}

TEST(ProbeServiceTest, SinkPassesOnThatBytesWillNotCome) {
  ProbeService service;
  FakeCall call(Method::kProbeSink, "", {"x"});
  call.Fail();
  EXPECT_THAT(Serve(service, call).status,
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST(ProbeServiceTest, SourceAnswersThePattern) {
  ProbeService service;
  for (uint64_t size : {uint64_t{1000}, uint64_t{0}, uint64_t{70'000}}) {
    FakeCall call(Method::kProbeSource, EncodeProbeSize(size), {});
    ServerReply reply = Serve(service, call);
    ASSERT_OK(reply.status);
    ASSERT_EQ(reply.attachments.size(), 1);
    ASSERT_EQ(reply.attachments[0].size(), size);
    for (uint64_t i = 0; i < size; ++i) {
      ASSERT_EQ(reply.attachments[0][i], ProbeByte(i)) << i;
    }
  }
}

TEST(ProbeServiceTest, SourceRefusesMoreThanItsLimit) {
  ProbeService service(/*largest_source=*/10);
  FakeCall fits(Method::kProbeSource, EncodeProbeSize(10), {});
  EXPECT_OK(Serve(service, fits).status);
  FakeCall larger(Method::kProbeSource, EncodeProbeSize(11), {});
  EXPECT_THAT(Serve(service, larger).status,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("10 bytes, not 11")));
  FakeCall garbled(Method::kProbeSource, "10", {});
  EXPECT_THAT(Serve(service, garbled).status,
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ProbeServiceTest, OtherMethodsAreNotServed) {
  ProbeService service;
  FakeCall call(static_cast<Method>(999), "", {});
  EXPECT_THAT(Serve(service, call).status,
              StatusIs(absl::StatusCode::kUnimplemented));
}

}  // namespace
}  // namespace capstan
