#include "telemetry/event_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/crc32c.h"
#include "simulation/sim_clock.h"
#include "simulation/sim_file_system.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint64_t kMostBytes = 1 << 20;

uint64_t Number(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

class EventFileTest : public ::testing::Test {
 protected:
  std::unique_ptr<EventFile> Create(std::string_view directory = "logs/train") {
    auto file = EventFile::Create(files_, directory, clock_,
                                  {.host = "node 1/a", .process = 42});
    EXPECT_OK(file);
    return file.ok() ? *std::move(file) : nullptr;
  }

  std::string Content(const std::string& path) {
    return ReadFile(files_, path, kMostBytes).value_or("(unreadable)");
  }

  // The data of a file's records; checks each record.
  std::vector<std::string> Records(const std::string& path) {
    std::vector<std::string> records;
    const std::string content = Content(path);
    std::string_view rest = content;
    while (!rest.empty()) {
      if (rest.size() < 16) return {"(cut)"};
      const uint64_t length = Number(rest.substr(0, 8));
      if (rest.size() < 16 + length) return {"(cut)"};
      EXPECT_EQ(Number(rest.substr(8, 4)),
                MaskCrc32c(Crc32c(AsBytes(rest.substr(0, 8)))));
      const std::string_view data = rest.substr(12, length);
      EXPECT_EQ(Number(rest.substr(12 + length, 4)),
                MaskCrc32c(Crc32c(AsBytes(data))));
      records.emplace_back(data);
      rest.remove_prefix(16 + length);
    }
    return records;
  }

  SimClock clock_;  // starts at 1,700,000,000 s
  SimFileSystem files_;
};

// The golden bytes come from TensorBoard's RecordWriter.
TEST(AppendRecordTest, Golden) {
  std::string buffer = "before";
  AppendRecord("123456789", buffer);
  EXPECT_EQ(absl::BytesToHexString(buffer.substr(6)),
            "0900000000000000"
            "37f97139"
            "313233343536373839"
            "e5b08ac7");
}

TEST_F(EventFileTest, BeginsWithItsVersion) {
  const auto events = Create();
  EXPECT_THAT(files_.List("logs/train"),
              IsOkAndHolds(
                  ElementsAre("events.out.tfevents.1700000000.node_1_a.42.0")));
  EXPECT_THAT(Records(events->path()),
              ElementsAre(EncodeFileVersion(1'700'000'000)));
}

TEST_F(EventFileTest, SecondFileHasAnotherName) {
  const auto first = Create();
  const auto second = Create();
  EXPECT_EQ(second->path(),
            "logs/train/events.out.tfevents.1700000000.node_1_a.42.1");
  EXPECT_THAT(Create("")->path(), StartsWith("events.out.tfevents."));
}

TEST_F(EventFileTest, WritesWhatIsAddedInOrder) {
  const auto events = Create();
  clock_.AdvanceTo(clock_.Now() + std::chrono::milliseconds(500));
  const double now = 1'700'000'000.5;
  const std::vector<float> values = {1, 2, 4};
  const std::vector<HParamMetric> metrics = {{"loss"}};
  EXPECT_OK(events->HParams({{"batch", 64.0}}, metrics));
  EXPECT_OK(events->Scalar("loss", 1, 0.5));
  EXPECT_OK(events->Histogram("w", 1, values));
  EXPECT_OK(events->Text("note", 1, "hi"));
  EXPECT_OK(events->EndHParams(HParamsOutcome::kFailure));
  EXPECT_EQ(Records(events->path()).size(), 1u);
  EXPECT_OK(events->Flush());
  EXPECT_OK(events->Flush());
  EXPECT_THAT(
      Records(events->path()),
      ElementsAre(
          EncodeFileVersion(1'700'000'000),
          EncodeSummary(now, 0,
                        HParamsExperiment(now, {{"batch", 64.0}}, metrics)),
          EncodeSummary(now, 0, HParamsStart(now, {{"batch", 64.0}})),
          EncodeSummary(now, 1, ScalarValue("loss", 0.5)),
          EncodeSummary(now, 1, HistogramSummary("w", SpreadOf(values))),
          EncodeSummary(now, 1, TextValue("note", "hi")),
          EncodeSummary(now, 0, HParamsEnd(now, HParamsOutcome::kFailure))));
}

TEST_F(EventFileTest, ARestartIsThereAtOnce) {
  const auto events = Create();
  EXPECT_OK(events->Restart(3));
  EXPECT_THAT(Records(events->path()),
              ElementsAre(EncodeFileVersion(1'700'000'000),
                          EncodeRestart(1'700'000'000, 3)));
}

TEST_F(EventFileTest, DestructorWritesTheRest) {
  auto events = Create();
  const std::string path = events->path();
  EXPECT_OK(events->Scalar("loss", 1, 0.5));
  events.reset();
  EXPECT_EQ(Records(path).size(), 2u);
}

TEST_F(EventFileTest, WritesByItselfWhenThereIsMuch) {
  const auto events = Create();
  const std::string text(1 << 16, 'x');
  EXPECT_OK(events->Text("note", 1, text));
  EXPECT_EQ(Records(events->path()).size(), 2u);
}

TEST_F(EventFileTest, ErrorsNameTheFile) {
  const auto events = Create();
  files_.SetCapacity(files_.used_bytes() + 5);
  EXPECT_OK(events->Scalar("loss", 1, 0.5));
  EXPECT_THAT(events->Flush(), StatusIs(absl::StatusCode::kResourceExhausted,
                                        HasSubstr(events->path())));
  EXPECT_OK(events->Scalar("loss", 2, 0.5));
  EXPECT_THAT(events->Flush(), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(EventFileTest, CreateFailsWithTheFileSystem) {
  files_.FailFrom(3, absl::PermissionDeniedError("planted"));
  EXPECT_THAT(
      EventFile::Create(files_, "logs/train", clock_, {.host = "a"}),
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("tfevents")));
  files_.ClearFailures();
  EXPECT_THAT(EventFile::Create(files_, "../x", clock_, {.host = "a"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace capstan
