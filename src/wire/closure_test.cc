#include "wire/closure.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/random.h"
#include "base/status.h"
#include "testing/status_matchers.h"
#include "wire/closure.pb.h"
#include "wire/error_body.h"
#include "wire/fence_limits.h"

namespace capstan {
namespace {

using absl::StatusCode::kInvalidArgument;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

constexpr uint64_t kLarge = uint64_t{1} << 50;

AttachRequest SomeAttachRequest() {
  return {.coordinator_term = {.term = 3, .holder = kLarge}, .session = 9};
}

AttachReply SomeAttachReply() {
  AttachReply reply;
  reply.incarnation = kLarge;
  reply.concurrency = 4;
  reply.functions = {
      {.name = "step", .signature = "f64(range)", .options = {}},
      {.name = "\xc3\xa9", .signature = "", .options = {.reads_only = true}}};
  reply.resources = {{.name = "table", .type = "Table"}};
  reply.made = {1, kLarge};
  return reply;
}

RunRequest SomeRunRequest() {
  RunRequest request;
  request.session = 9;
  request.function = 2;
  request.id = {.fence = {.generation = 3, .term = 4},
                .step = kLarge,
                .push = 0,
                .round = 7,
                .replica = 5};
  request.want_value = false;
  request.arguments = std::string("\0\xff\1", 3);
  return request;
}

RunReply SomeRunReply() {
  RunReply reply;
  reply.end = RunEnd::kFailed;
  reply.error = WithTask(absl::DataLossError("it is gone"), "ps/1");
  reply.value = std::string("\0\xff", 2);
  reply.run_ns = kLarge;
  return reply;
}

CancelRequest SomeCancelRequest() {
  return {.session = 9, .steps = {1, kLarge}, .unless_started = true};
}

MakeRequest SomeMakeRequest() {
  MakeRequest request;
  request.session = 9;
  request.id = kLarge;
  request.resource = 2;
  request.input = {.num_input_pipelines = 4,
                   .input_pipeline_id = 3,
                   .num_replicas_in_sync = 2};
  return request;
}

DropRequest SomeDropRequest() { return {.session = 9, .ids = {1, kLarge}}; }

WorkerReport SomeWorkerReport() {
  WorkerReport report;
  report.running = {{.step = 1,
                     .function = "step",
                     .started = true,
                     .since_ms = 5,
                     .waits_for = "a pull of 'w'",
                     .waits_ms = 4},
                    {.step = kLarge}};
  report.finished = 1;
  report.failed = 2;
  report.cancelled = kLarge;
  return report;
}

DispatchReport SomeDispatchReport() {
  DispatchReport report;
  report.active = true;
  report.queued = 1;
  report.in_flight = 2;
  report.finished = 3;
  report.failed = 4;
  report.cancelled = 5;
  report.lost_retries = 6;
  report.server_retries = 7;
  report.leaving_retries = 8;
  report.poisoned = 9;
  report.watermark = 10;
  report.round = 11;
  report.per_second = 12.5;
  report.error = "thirteen";
  LinkReport link;
  link.task = "worker/14";
  link.state = LinkState::kPreparing;
  link.in_flight = 15;
  link.finished = 16;
  link.failed = 17;
  link.lost = 18;
  link.mean_us = 19;
  link.p99_us = 20;
  link.error = "twenty-one";
  link.oldest_ms = 22;
  link.oldest_step = 23;
  link.oldest_function = "twenty-four";
  report.workers = {link, {}};
  return report;
}

TEST(ClosureTest, MessagesComeBackAsTheyWere) {
  EXPECT_THAT(DecodeAttachRequest(EncodeAttachRequest(SomeAttachRequest())),
              IsOkAndHolds(SomeAttachRequest()));
  EXPECT_THAT(DecodeRunRequest(EncodeRunRequest(SomeRunRequest())),
              IsOkAndHolds(SomeRunRequest()));
  EXPECT_THAT(DecodeCancelRequest(EncodeCancelRequest(SomeCancelRequest())),
              IsOkAndHolds(SomeCancelRequest()));
  EXPECT_THAT(DecodeDropRequest(EncodeDropRequest(SomeDropRequest())),
              IsOkAndHolds(SomeDropRequest()));
  EXPECT_THAT(DecodeWorkerReport(EncodeWorkerReport(SomeWorkerReport())),
              IsOkAndHolds(SomeWorkerReport()));
  EXPECT_THAT(DecodeDispatchReport(EncodeDispatchReport(SomeDispatchReport())),
              IsOkAndHolds(SomeDispatchReport()));
}

TEST(ClosureTest, MessagesWithNothingInThemComeBackAsTheyWere) {
  EXPECT_THAT(DecodeRunRequest(EncodeRunRequest(RunRequest())),
              IsOkAndHolds(RunRequest()));
  EXPECT_THAT(DecodeCancelRequest(EncodeCancelRequest(CancelRequest())),
              IsOkAndHolds(CancelRequest()));
  EXPECT_THAT(DecodeDropRequest(EncodeDropRequest(DropRequest())),
              IsOkAndHolds(DropRequest()));
  EXPECT_THAT(DecodeWorkerReport(EncodeWorkerReport(WorkerReport())),
              IsOkAndHolds(WorkerReport()));
  EXPECT_THAT(DecodeDispatchReport(EncodeDispatchReport(DispatchReport())),
              IsOkAndHolds(DispatchReport()));
}

TEST(ClosureTest, TheAnswerToAnAttachmentComesBackAsItWas) {
  const AttachReply before = SomeAttachReply();
  const absl::StatusOr<AttachReply> after =
      DecodeAttachReply(EncodeAttachReply(before));
  ASSERT_OK(after);
  EXPECT_EQ(after->incarnation, before.incarnation);
  EXPECT_EQ(after->concurrency, before.concurrency);
  ASSERT_EQ(after->functions.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after->functions[i].name, before.functions[i].name);
    EXPECT_EQ(after->functions[i].signature, before.functions[i].signature);
    EXPECT_EQ(after->functions[i].options.reads_only,
              before.functions[i].options.reads_only);
  }
  ASSERT_EQ(after->resources.size(), 1u);
  EXPECT_EQ(after->resources[0].name, "table");
  EXPECT_EQ(after->resources[0].type, "Table");
  EXPECT_EQ(after->made, before.made);
}

TEST(ClosureTest, AResourceToBeMadeComesBackAsItWas) {
  const MakeRequest before = SomeMakeRequest();
  const absl::StatusOr<MakeRequest> after =
      DecodeMakeRequest(EncodeMakeRequest(before));
  ASSERT_OK(after);
  EXPECT_EQ(after->session, before.session);
  EXPECT_EQ(after->id, before.id);
  EXPECT_EQ(after->resource, before.resource);
  EXPECT_EQ(after->input.num_input_pipelines, 4);
  EXPECT_EQ(after->input.input_pipeline_id, 3);
  EXPECT_EQ(after->input.num_replicas_in_sync, 2);
}

TEST(ClosureTest, EveryEndComesBackAsItWas) {
  for (const RunEnd end :
       {RunEnd::kDone, RunEnd::kFailed, RunEnd::kCancelled, RunEnd::kLeaving}) {
    RunReply before = SomeRunReply();
    before.end = end;
    const absl::StatusOr<RunReply> after =
        DecodeRunReply(EncodeRunReply(before));
    ASSERT_OK(after);
    EXPECT_EQ(after->end, end);
    EXPECT_EQ(after->value, before.value);
    EXPECT_EQ(after->run_ns, before.run_ns);
    if (end == RunEnd::kFailed) {
      EXPECT_EQ(after->error, before.error);
      EXPECT_EQ(TaskOf(after->error), "ps/1");
    } else {
      EXPECT_OK(after->error);
    }
  }
}

TEST(ClosureTest, AFailureIsNeverASuccess) {
  for (const uint32_t code : {0u, 17u, ~0u}) {
    wire::RunReplyMessage message;
    message.set_end(static_cast<uint32_t>(RunEnd::kFailed));
    message.set_code(code);
    message.set_error(EncodeErrorBody(absl::AbortedError("why")));
    const absl::StatusOr<RunReply> reply =
        DecodeRunReply(message.SerializeAsString());
    ASSERT_OK(reply);
    EXPECT_THAT(reply->error,
                StatusIs(absl::StatusCode::kUnknown, HasSubstr("why")));
  }
}

TEST(ClosureTest, UnknownEndsAndStatesAreRefused) {
  wire::RunReplyMessage reply;
  reply.set_end(4);
  EXPECT_THAT(DecodeRunReply(reply.SerializeAsString()),
              StatusIs(kInvalidArgument, HasSubstr("unknown way 4")));
  wire::DispatchReportMessage report;
  report.add_workers()->set_state(3);
  EXPECT_THAT(DecodeDispatchReport(report.SerializeAsString()),
              StatusIs(kInvalidArgument, HasSubstr("unknown state 3")));
  EXPECT_EQ(LinkStateName(static_cast<LinkState>(3)), "unknown");
  EXPECT_EQ(LinkStateName(LinkState::kReady), "ready");
}

TEST(ClosureTest, AnAttachmentWithoutATermOrASessionIsRefused) {
  AttachRequest request = SomeAttachRequest();
  request.coordinator_term.term = 0;
  EXPECT_THAT(DecodeAttachRequest(EncodeAttachRequest(request)),
              StatusIs(kInvalidArgument, HasSubstr("term")));
  request = SomeAttachRequest();
  request.session = 0;
  EXPECT_THAT(DecodeAttachRequest(EncodeAttachRequest(request)),
              StatusIs(kInvalidArgument, HasSubstr("session")));
}

TEST(ClosureTest, AnAttachmentInATermAboveAllIsRefused) {
  AttachRequest request = SomeAttachRequest();
  for (const uint64_t term : {kTermLimit, UINT64_MAX}) {
    request.coordinator_term.term = term;
    EXPECT_THAT(DecodeAttachRequest(EncodeAttachRequest(request)),
                StatusIs(kInvalidArgument, HasSubstr("terms are below")));
  }
}

// Every decoder, with a message for it.
struct Codec {
  const char* name;
  std::string encoded;
  std::function<absl::Status(std::string_view)> decode;
};

std::vector<Codec> Codecs() {
  return {
      {"attachment", EncodeAttachRequest(SomeAttachRequest()),
       [](std::string_view body) {
         return DecodeAttachRequest(body).status();
       }},
      {"attached", EncodeAttachReply(SomeAttachReply()),
       [](std::string_view body) { return DecodeAttachReply(body).status(); }},
      {"run", EncodeRunRequest(SomeRunRequest()),
       [](std::string_view body) { return DecodeRunRequest(body).status(); }},
      {"end", EncodeRunReply(SomeRunReply()),
       [](std::string_view body) { return DecodeRunReply(body).status(); }},
      {"cancel", EncodeCancelRequest(SomeCancelRequest()),
       [](std::string_view body) {
         return DecodeCancelRequest(body).status();
       }},
      {"make", EncodeMakeRequest(SomeMakeRequest()),
       [](std::string_view body) { return DecodeMakeRequest(body).status(); }},
      {"drop", EncodeDropRequest(SomeDropRequest()),
       [](std::string_view body) { return DecodeDropRequest(body).status(); }},
      {"worker", EncodeWorkerReport(SomeWorkerReport()),
       [](std::string_view body) { return DecodeWorkerReport(body).status(); }},
      {"dispatch", EncodeDispatchReport(SomeDispatchReport()),
       [](std::string_view body) {
         return DecodeDispatchReport(body).status();
       }}};
}

bool IsFine(const absl::Status& status) {
  return status.ok() || absl::IsInvalidArgument(status);
}

TEST(ClosureTest, GarbageIsRefused) {
  for (const Codec& codec : Codecs()) {
    EXPECT_OK(codec.decode(codec.encoded)) << codec.name;
    EXPECT_THAT(codec.decode("\xff\xff\xff"), StatusIs(kInvalidArgument))
        << codec.name;
    EXPECT_THAT(codec.decode(codec.encoded + "\x07"),
                StatusIs(kInvalidArgument))
        << codec.name;
  }
}

TEST(ClosureTest, EveryTruncationAndOtherByteIsAnErrorOrAMessage) {
  for (const Codec& codec : Codecs()) {
    size_t refused = 0;
    for (size_t size = 0; size < codec.encoded.size(); ++size) {
      const absl::Status status = codec.decode(codec.encoded.substr(0, size));
      EXPECT_TRUE(IsFine(status)) << codec.name << " " << size;
      if (!status.ok()) ++refused;
    }
    EXPECT_GT(refused, 0u) << codec.name;
    for (size_t at = 0; at < codec.encoded.size(); ++at) {
      for (int flip = 1; flip < 256; ++flip) {
        std::string bent = codec.encoded;
        bent[at] = static_cast<char>(bent[at] ^ flip);
        EXPECT_TRUE(IsFine(codec.decode(bent))) << codec.name << " " << at;
      }
    }
  }
}

TEST(ClosureTest, NoiseIsAnErrorOrAMessage) {
  Random random(3, 4);
  const std::vector<Codec> codecs = Codecs();
  for (int i = 0; i < 5'000; ++i) {
    std::string noise(static_cast<size_t>(random.Between(0, 60)), 0);
    for (char& byte : noise) byte = static_cast<char>(random.Between(0, 255));
    for (const Codec& codec : codecs) EXPECT_TRUE(IsFine(codec.decode(noise)));
  }
}

}  // namespace
}  // namespace capstan
