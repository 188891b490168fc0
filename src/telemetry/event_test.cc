// The golden bytes come from TensorBoard 2.21's own protobuf classes, for the
// same messages.
#include "telemetry/event.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"

namespace capstan {
namespace {

std::string Hex(const std::string& bytes) {
  return absl::BytesToHexString(bytes);
}

// The event with `value`, at wall time 1.5, in hex.
std::string HexEvent(int64_t step, const ProtoWriter& value) {
  return Hex(EncodeSummary(1.5, step, value));
}

std::map<std::string, HParamValue> Parameters() {
  return {{"batch", 64.0}, {"name", "a"}, {"shuffle", true}};
}

TEST(EventTest, FileVersion) {
  EXPECT_EQ(Hex(EncodeFileVersion(1700000000.5)),
            "0900002040fc54d9411a0d627261696e2e4576656e743a32");
}

TEST(EventTest, Scalar) {
  EXPECT_EQ(HexEvent(7, ScalarValue("loss", 0.25)),
            "09000000000000f83f10072a0d0a0b0a046c6f7373150000803e");
}

TEST(EventTest, Histogram) {
  const ValueHistogram histogram = {.min = -1,
                                    .max = 3,
                                    .count = 4,
                                    .sum = 2,
                                    .sum_of_squares = 10.5,
                                    .limits = {1, 3},
                                    .counts = {3, 1}};
  EXPECT_EQ(
      HexEvent(7, HistogramSummary("w", histogram)),
      "09000000000000f83f10072a580a560a01772a5109000000000000f0bf11000000000000"
      "084019000000000000104021000000000000004029000000000000254032100000000000"
      "00"
      "f03f00000000000008403a100000000000000840000000000000f03f");
}

TEST(EventTest, Text) {
  EXPECT_EQ(HexEvent(7, TextValue("note", "*hi*")),
            "09000000000000f83f10072a200a1e0a046e6f7465420a0807120042042a68692a"
            "4a0a0a060a04746578742002");
}

TEST(EventTest, HParamsExperiment) {
  const std::vector<HParamMetric> metrics = {{"loss", "validation"}};
  EXPECT_EQ(
      HexEvent(0, HParamsExperiment(2.5, Parameters(), metrics)),
      "09000000000000f83f2a720a700a145f68706172616d735f2f6578706572696d656e7442"
      "060801120212004a500a4e0a0768706172616d7312431241190000000000000440220"
      "90a056261746368200322080a046e616d652001220b0a0773687566666c6520022a140a"
      "120a0a76616c69646174696f6e12046c6f7373");
}

TEST(EventTest, HParamsStart) {
  EXPECT_EQ(HexEvent(0, HParamsStart(2.5, Parameters())),
            "09000000000000f83f2a720a700a1c5f68706172616d735f2f73657373696f6e5f"
            "73746172"
            "745f696e666f42060801120212004a480a460a0768706172616d73123b1a390a12"
            "0a05626"
            "174636812091100000000000050400a0b0a046e616d6512031a01610a0d0a07736"
            "8756666"
            "6c6512022001290000000000000440");
}

TEST(EventTest, HParamsEnd) {
  EXPECT_EQ(
      HexEvent(0, HParamsEnd(2.5, HParamsOutcome::kSuccess)),
      "09000000000000f83f2a420a400a1a5f68706172616d735f2f73657373696f6e5f656e64"
      "5f696e666f42060801120212004a1a0a180a0768706172616d73120d220b080111000000"
      "0000000440");
  EXPECT_NE(HexEvent(0, HParamsEnd(2.5, HParamsOutcome::kSuccess)),
            HexEvent(0, HParamsEnd(2.5, HParamsOutcome::kFailure)));
}

}  // namespace
}  // namespace capstan
