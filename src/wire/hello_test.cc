#include "wire/hello.h"

#include <gtest/gtest.h>

#include <string>

#include "rapidcheck/gtest.h"
#include "testing/status_matchers.h"
#include "wire/wire.pb.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

Hello Worker() {
  Hello hello;
  hello.version = "0.1.0";
  hello.job = "train-7";
  hello.role = "worker";
  hello.index = 3;
  hello.incarnation = 0xfedcba9876543210;
  hello.session = 42;
  hello.lane = Lane::kBulk;
  return hello;
}

Hello Server() {
  Hello hello = Worker();
  hello.role = "ps";
  hello.index = 1;
  return hello;
}

rc::Gen<std::string> Name() {
  return rc::gen::resize(
      256, rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f)));
}

RC_GTEST_PROP(HelloTest, SurvivesTheTrip, ()) {
  Hello hello;
  hello.version = *Name();
  hello.job = *Name();
  hello.role = *Name();
  hello.index = *rc::gen::arbitrary<uint32_t>();
  hello.incarnation = *rc::gen::arbitrary<uint64_t>();
  hello.session = *rc::gen::arbitrary<uint64_t>();
  hello.lane = *rc::gen::element(Lane::kSmall, Lane::kBulk);
  if (*rc::gen::arbitrary<bool>()) {
    hello.token = *rc::gen::container<std::string>(Hello::kTokenBytes,
                                                   rc::gen::arbitrary<char>());
  }
  const absl::StatusOr<Hello> decoded = DecodeHello(EncodeHello(hello));
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == hello);
}

RC_GTEST_PROP(HelloTest, AnyBytesAreDecodedOrRefused,
              (const std::string& bytes)) {
  const absl::StatusOr<Hello> decoded = DecodeHello(bytes);
  if (!decoded.ok()) RC_ASSERT(absl::IsInvalidArgument(decoded.status()));
}

TEST(HelloTest, EveryTruncationIsDecodedOrRefused) {
  const std::string bytes = EncodeHello(Worker());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const absl::StatusOr<Hello> decoded =
        DecodeHello(std::string_view(bytes).substr(0, size));
    // A cut between two fields gives a hello that lacks the rest, never an
    // equal one.
    if (decoded.ok()) {
      EXPECT_NE(*decoded, Worker());
    }
  }
  EXPECT_THAT(DecodeHello(bytes), IsOkAndHolds(Worker()));
}

TEST(HelloTest, FieldsOutOfRangeAreRefused) {
  wire::HelloMessage message;
  ASSERT_TRUE(message.ParseFromString(EncodeHello(Worker())));
  wire::HelloMessage bad = message;
  bad.set_lane(2);
  EXPECT_THAT(
      DecodeHello(bad.SerializeAsString()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("lane 2")));
  bad = message;
  bad.set_job(std::string(257, 'j'));
  EXPECT_THAT(DecodeHello(bad.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("job"), HasSubstr("257"))));
  bad = message;
  bad.set_version("1\n2");
  EXPECT_THAT(
      DecodeHello(bad.SerializeAsString()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("version")));
  bad = message;
  bad.set_role("\x1b[31m");
  EXPECT_THAT(DecodeHello(bad.SerializeAsString()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("role")));
}

TEST(HelloTest, TaskNameIsRoleAndIndex) {
  EXPECT_EQ(TaskName(Worker()), "worker/3");
  EXPECT_EQ(TaskName(Server()), "ps/1");
}

TEST(HelloTest, TasksOfOneJobAndVersionMayTalk) {
  EXPECT_OK(CheckHello(Worker(), Server(), ""));
  EXPECT_OK(CheckHello(Worker(), Server(), "ps/1"));
}

TEST(HelloTest, AnotherJobIsRefusedWithBothNames) {
  Hello other = Server();
  other.job = "train-8";
  EXPECT_THAT(CheckHello(Worker(), other, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("train-7"), HasSubstr("train-8"),
                             HasSubstr("worker/3"), HasSubstr("ps/1"))));
}

TEST(HelloTest, AnotherVersionIsRefusedWithBothVersions) {
  Hello other = Server();
  other.version = "0.2.0";
  EXPECT_THAT(CheckHello(Worker(), other, ""),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("0.1.0"), HasSubstr("0.2.0"))));
}

TEST(HelloTest, AnotherTaskThanExpectedIsRefusedWithBothNames) {
  EXPECT_THAT(CheckHello(Worker(), Server(), "ps/2"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("ps/2"), HasSubstr("ps/1"))));
  EXPECT_THAT(CheckHello(Worker(), Server(), "ps/11"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST(HelloTest, TokenOfAnotherSizeIsRefusedAndNotShown) {
  for (const size_t size : {1, 31, 33}) {
    wire::HelloMessage message;
    message.set_token(std::string(size, 'T'));
    EXPECT_THAT(
        DecodeHello(message.SerializeAsString()),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr("token"), ::testing::Not(HasSubstr("T")))));
  }
}

}  // namespace
}  // namespace capstan
