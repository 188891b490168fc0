#include "checkpoint/tensor_file/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;

SafetensorsEntry Entry(std::string name, uint64_t begin, uint64_t end) {
  return {.name = std::move(name),
          .dtype = DType::kU8,
          .shape = Shape({static_cast<int64_t>(end - begin)}),
          .begin = begin,
          .end = end};
}

// The JSON of a file with one tensor described by `text`.
std::string TensorJson(std::string_view text) {
  return "{\"w\":{" + std::string(text) + "}}";
}

TEST(SafetensorsHeaderTest, Encodes) {
  SafetensorsHeader header;
  header.metadata = {{"a", "\"1\""}, {"b", "2"}};
  header.entries = {Entry("w/0", 0, 3), Entry("ä", 3, 3)};
  EXPECT_EQ(EncodeSafetensorsHeader(header).value(),
            std::string("\x98\0\0\0\0\0\0\0", 8) +
                R"({"__metadata__":{"a":"\"1\"","b":"2"},)"
                R"("w/0":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                R"("ä":{"dtype":"U8","shape":[0],"data_offsets":[3,3]}})"
                "       ");
  EXPECT_EQ(EncodeSafetensorsHeader({}).value(),
            std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST(SafetensorsHeaderTest, EncodesOnlyUtf8) {
  SafetensorsHeader header;
  header.entries = {Entry("\xff", 0, 1)};
  EXPECT_THAT(EncodeSafetensorsHeader(header),
              StatusIs(kInvalidArgument, HasSubstr("UTF-8")));
  header.entries.clear();
  header.metadata = {{"key", "\xff"}};
  EXPECT_THAT(EncodeSafetensorsHeader(header),
              StatusIs(kInvalidArgument, HasSubstr("key")));
}

TEST(SafetensorsHeaderTest, EncodesNoMoreThanTheLimit) {
  SafetensorsHeader header;
  header.metadata["a"] = std::string(kMaxSafetensorsHeader, 'x');
  EXPECT_THAT(EncodeSafetensorsHeader(header),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(SafetensorsHeaderTest, Parses) {
  const auto header = ParseSafetensorsJson(
      "{ \"b\":{\"data_offsets\":[4, 6],\"shape\":[],\"dtype\":\"BF16\"},\n"
      "\"__metadata__\":{\"k\":\"v\"}, \"a\":{\"dtype\":\"F32\",\"shape\":[1],"
      "\"data_offsets\":[0,4]}}   ");
  ASSERT_OK(header);
  EXPECT_EQ(header->metadata, (std::map<std::string, std::string>{{"k", "v"}}));
  EXPECT_THAT(header->entries,
              ElementsAre(SafetensorsEntry{"b", DType::kBF16, {}, 4, 6},
                          SafetensorsEntry{"a", DType::kF32, {1}, 0, 4}));
  EXPECT_OK(ParseSafetensorsJson("{}"));
}

TEST(SafetensorsHeaderTest, RefusesWhatIsNotTheFormat) {
  const std::string good = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
  ASSERT_OK(ParseSafetensorsJson(TensorJson(good)));
  for (const std::string& bad : {
           std::string(),
           std::string(" {}"),
           std::string("\xef\xbb\xbf{}"),
           std::string("[]"),
           std::string("{"),
           std::string("{}}"),
           std::string("{}\0", 3),
           std::string(R"({"a":1})"),
           std::string(R"({"a":[]})"),
           std::string(R"({"a":"b"})"),
           std::string(R"({"a":null})"),
           std::string(R"({"":{"dtype":"F32","shape":[],)"
                       R"("data_offsets":[0,4]}})"),
           std::string(R"({"__metadata__":[]})"),
           std::string(R"({"__metadata__":{"a":1}})"),
           std::string(R"({"__metadata__":{"a":{}}})"),
           std::string(R"({"__metadata__":{"a":"1","a":"1"}})"),
           std::string(R"({"__metadata__":{},"__metadata__":{}})"),
       }) {
    EXPECT_THAT(ParseSafetensorsJson(bad),
                StatusIs(kDataLoss, HasSubstr("header")))
        << bad;
  }
  const std::string twice = good.substr(0, 13) + good;
  for (const std::string& bad : {
           std::string(),
           std::string(R"("dtype":"F32","shape":[1])"),
           std::string(R"("dtype":"F32","data_offsets":[0,4])"),
           std::string(R"("shape":[1],"data_offsets":[0,4])"),
           twice,
           good + R"(,"more":1)",
           std::string(R"("dtype":1,"shape":[1],"data_offsets":[0,4])"),
           std::string(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"),
           std::string(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"),
           std::string(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])"),
           std::string(R"("dtype":"F32","shape":["1"],"data_offsets":[0,4])"),
           std::string(R"("dtype":"F32","shape":[true],"data_offsets":[0,4])"),
           std::string(R"("dtype":"F32","shape":1,"data_offsets":[0,4])"),
           std::string(R"("dtype":"F32","shape":{},"data_offsets":[0,4])"),
           std::string(R"("dtype":"F32","shape":[1],"data_offsets":[0])"),
           std::string(R"("dtype":"F32","shape":[1],"data_offsets":[0,2,4])"),
           std::string(R"("dtype":"F32","shape":[1],"data_offsets":[-4,0])"),
           std::string(R"("dtype":["F32"],"shape":[1],"data_offsets":[0,4])"),
           std::string(R"("dtype":"F32","shape":[18446744073709551615],)"
                       R"("data_offsets":[0,4])"),
           std::string(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],)"
                       R"("data_offsets":[0,4])"),
       }) {
    EXPECT_THAT(ParseSafetensorsJson(TensorJson(bad)),
                StatusIs(kDataLoss, HasSubstr("tensor \"w\"")))
        << bad;
  }
}

TEST(SafetensorsHeaderTest, RefusesATensorThatIsThereTwice) {
  const std::string one =
      R"("w":{"dtype":"F32","shape":[],"data_offsets":[0,4]})";
  EXPECT_THAT(ParseSafetensorsJson("{" + one + "," + one + "}"),
              StatusIs(kDataLoss, HasSubstr("\"w\" is there twice")));
}

TEST(SafetensorsHeaderTest, RefusesWhatCapstanDoesNotHave) {
  EXPECT_THAT(ParseSafetensorsJson(TensorJson(
                  R"("dtype":"F8_E4M3","shape":[],"data_offsets":[0,1])")),
              StatusIs(kInvalidArgument,
                       AllOf(HasSubstr("\"w\""), HasSubstr("F8_E4M3"))));
  EXPECT_THAT(ParseSafetensorsJson(TensorJson(
                  R"("dtype":"F32","shape":[4294967296,4294967296,0],)"
                  R"("data_offsets":[0,0])")),
              StatusIs(kInvalidArgument, HasSubstr("\"w\"")));
}

TEST(SafetensorsHeaderTest, KeepsUnknownDTypesIfItIsTold) {
  const auto header = ParseSafetensorsJson(
      TensorJson(R"("dtype":"U16","shape":[3],"data_offsets":[0,6])"),
      UnknownDTypes::kKeep);
  ASSERT_OK(header);
  ASSERT_EQ(header->entries.size(), 1u);
  EXPECT_THAT(header->entries[0].unreadable, HasSubstr("dtype \"U16\""));
  // Only its size is unknown.
  std::vector<SafetensorsEntry> entries = header->entries;
  EXPECT_OK(PlaceSafetensors(entries, 6));
  EXPECT_THAT(PlaceSafetensors(entries, 7), StatusIs(kDataLoss));
  entries[0].begin = 7;
  EXPECT_THAT(PlaceSafetensors(entries, 6), StatusIs(kDataLoss));
}

TEST(SafetensorsHeaderTest, LongNamesAreCutInMessages) {
  const std::string name(1000, 'x');
  const absl::Status status =
      ParseSafetensorsJson("{\"" + name + "\":{}}").status();
  EXPECT_THAT(status, StatusIs(kDataLoss));
  EXPECT_LT(status.message().size(), 300u);
}

TEST(SafetensorsHeaderTest, PlacesInTheOrderOfTheData) {
  std::vector<SafetensorsEntry> entries = {
      Entry("b", 3, 5), Entry("none", 3, 3), Entry("a", 0, 3)};
  EXPECT_OK(PlaceSafetensors(entries, 5));
  EXPECT_THAT(entries, ElementsAre(Entry("a", 0, 3), Entry("none", 3, 3),
                                   Entry("b", 3, 5)));
  entries.clear();
  EXPECT_OK(PlaceSafetensors(entries, 0));
}

TEST(SafetensorsHeaderTest, RefusesPlacesThatDoNotFit) {
  const auto place = [](std::vector<SafetensorsEntry> entries, uint64_t size) {
    return PlaceSafetensors(entries, size);
  };
  EXPECT_THAT(
      place({Entry("a", 0, 3), Entry("b", 4, 5)}, 5),
      StatusIs(kDataLoss, AllOf(HasSubstr("\"b\""), HasSubstr("hole"))));
  EXPECT_THAT(
      place({Entry("a", 0, 3), Entry("b", 2, 5)}, 5),
      StatusIs(kDataLoss, AllOf(HasSubstr("\"b\""), HasSubstr("inside"))));
  EXPECT_THAT(place({Entry("a", 1, 3)}, 3),
              StatusIs(kDataLoss, HasSubstr("\"a\"")));
  EXPECT_THAT(place({Entry("a", 0, 3)}, 2),
              StatusIs(kDataLoss, AllOf(HasSubstr("\"a\""), HasSubstr("cut"))));
  EXPECT_THAT(place({Entry("a", 0, 3)}, 4),
              StatusIs(kDataLoss, HasSubstr("1 bytes at the end")));
  EXPECT_THAT(place({}, 1), StatusIs(kDataLoss));
  SafetensorsEntry entry = Entry("a", 0, 3);
  entry.end = 4;
  EXPECT_THAT(place({entry}, 4),
              StatusIs(kDataLoss, HasSubstr("u8[3] takes 3 bytes")));
  entry.begin = std::numeric_limits<uint64_t>::max();
  entry.end = 2;  // 3 bytes, if the difference wraps
  EXPECT_THAT(place({entry}, 4), StatusIs(kDataLoss, HasSubstr("\"a\"")));
}

}  // namespace
}  // namespace capstan
