#include "dataset/format/tfrecord.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/dataset.h"
#include "dataset/read_all_test.h"
#include "dataset/thrown_test.h"
#include "testing/source_path.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string RecordOf(const Example& example) {
  const auto bytes = Elements<std::uint8_t>(example["record"]);
  return {bytes.begin(), bytes.end()};
}

class TfRecordTest : public ::testing::Test {
 protected:
  // Parses one record with these features.
  std::vector<Example> Parse(const std::string& record,
                             std::vector<TfFeature> features) {
    WriteTfRecords(path_, std::vector{record});
    return ReadAll(Dataset::TfRecord(path_, {.features = std::move(features)}));
  }
  std::string Error(const std::string& record,
                    std::vector<TfFeature> features) {
    return Thrown([&] { Parse(record, std::move(features)); });
  }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "f.tfrecord";
};

// The bytes that the format's description specifies for one record "123456789":
// the masked CRC-32C of the data is C78AB0E5.
TEST_F(TfRecordTest, WritesTheDocumentedBytes) {
  WriteTfRecords(path_, std::vector<std::string>{"123456789"});
  const std::string file = ReadText(path_);
  ASSERT_EQ(file.size(), kTfRecordFrame + 9);
  EXPECT_EQ(file.substr(0, 8), std::string("\x09\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(file.substr(12, 9), "123456789");
  EXPECT_EQ(file.substr(21), "\xe5\xb0\x8a\xc7");
}

TEST_F(TfRecordTest, ReadsTheGoldenFile) {
  const auto records = ReadAll(Dataset::TfRecord(
      testing::SourcePath("src/dataset/testdata/two.tfrecord"),
      {.features = {{.name = "id", .dtype = DType::kI64},
                    {.name = "x", .shape = Shape({2})},
                    {.name = "name", .dtype = DType::kU8, .shape = {}}}}));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(ValueOf(records[0], "id"), 7);
  EXPECT_EQ(ValueOf(records[1], "id"), -1);
  EXPECT_THAT(Elements<float>(records[1]["x"]), ElementsAre(3, 4.5));
  EXPECT_THAT(Elements<std::uint8_t>(records[0]["name"]),
              ElementsAre('o', 'n', 'e'));
}

TEST_F(TfRecordTest, GivesRecordsAsTheyAre) {
  const std::vector<std::string> records = {"one", "", std::string(5000, 'x')};
  WriteTfRecords(path_, records);
  std::vector<std::string> read;
  for (const Example& e : ReadAll(Dataset::TfRecord(path_))) {
    read.push_back(RecordOf(e));
  }
  EXPECT_EQ(read, records);
}

TEST_F(TfRecordTest, ReadsRecordsLargerThanItsBuffer) {
  const std::vector<std::string> records = {std::string(3'000'000, 'a'), "b",
                                            std::string(1'000'000, 'c')};
  WriteTfRecords(path_, records);
  const Dataset dataset = Dataset::TfRecord(path_);
  const auto read = ReadAll(dataset);
  ASSERT_EQ(read.size(), 3u);
  const ExampleTable table = ExampleTable::Open(dataset);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(RecordOf(read[i]), records[i]);
    EXPECT_EQ(table.At(static_cast<std::int64_t>(i)), read[i]);
  }
}

TEST_F(TfRecordTest, AnEmptyFileHasNoRecords) {
  WriteText(path_, "");
  EXPECT_THAT(ReadAll(Dataset::TfRecord(path_)), IsEmpty());
  EXPECT_EQ(ExampleTable::Open(Dataset::TfRecord(path_)).size(), 0);
}

TEST_F(TfRecordTest, ExamplesComeBackAsTheyWere) {
  const Example example{
      {"f", Tensor::FromValues({3}, {1.5f, -2.0f, 3.0f})},
      {"i", Tensor::FromValues<std::int64_t>({2}, {INT64_MIN, 300})},
      {"b", Tensor::FromValues<std::uint8_t>({3}, {0, 255, 'x'})}};
  const auto read =
      Parse(EncodeTfExample(example),
            {{.name = "f", .shape = Shape({3})},
             {.name = "i", .dtype = DType::kI64, .shape = std::nullopt},
             {.name = "b", .dtype = DType::kU8, .shape = std::nullopt}});
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0], example);
}

TEST_F(TfRecordTest, EncodesOnlyWhatATfExampleHolds) {
  EXPECT_EQ(Thrown([] {
              EncodeTfExample({{"x", Tensor::Scalar(1.0)}});
            }),
            "a tf.Example holds f32, i64 and u8, and \"x\" is f64 "
            "(InvalidArgument)");
}

// As old writers do: one tag per value.
TEST_F(TfRecordTest, ReadsValuesThatAreNotPacked) {
  const std::string floats("\x0d\0\0\x80\x3f\x0d\0\0\0\x40", 10);
  const auto field = [](char tag, const std::string& bytes) {
    return std::string(1, tag) + static_cast<char>(bytes.size()) + bytes;
  };
  const std::string built = field(
      0x0a, field(0x0a, field(0x0a, "f") + field(0x12, field(0x12, floats))));
  const auto read = Parse(built, {{.name = "f", .shape = Shape({2})}});
  EXPECT_THAT(Elements<float>(read.at(0)["f"]), ElementsAre(1, 2));
  const std::string ints = field(
      0x0a, field(0x0a, field(0x0a, "i") +
                            field(0x12, field(0x1a, "\x08\x05\x08\x07"))));
  const auto whole =
      Parse(ints, {{.name = "i", .dtype = DType::kI64, .shape = Shape({2})}});
  EXPECT_THAT(Elements<std::int64_t>(whole.at(0)["i"]), ElementsAre(5, 7));
}

TEST_F(TfRecordTest, FillsWhatIsMissing) {
  const auto read = Parse(EncodeTfExample({{"other", Tensor::Scalar(1.0f)}}),
                          {{.name = "f", .shape = Shape({2}), .missing = -1},
                           {.name = "i", .dtype = DType::kI64, .missing = 4},
                           {.name = "r", .shape = std::nullopt, .missing = 0}});
  EXPECT_THAT(Elements<float>(read[0]["f"]), ElementsAre(-1, -1));
  EXPECT_EQ(ValueOf(read[0], "i"), 4);
  EXPECT_THAT(Elements<float>(read[0]["r"]), IsEmpty());
}

TEST_F(TfRecordTest, NamesWhatIsWrongWithAnExample) {
  const std::string record =
      EncodeTfExample({{"f", Tensor::FromValues({2}, {1.0f, 2.0f})}});
  EXPECT_EQ(Error(record, {{.name = "g"}}),
            path_ +
                ", byte 0: feature \"g\": is missing, and `missing` is not "
                "given (InvalidArgument)");
  EXPECT_THAT(Error(record, {{.name = "f", .shape = Shape({3})}}),
              HasSubstr("has 2 elements, and [3] are expected"));
  EXPECT_THAT(Error(record, {{.name = "f", .dtype = DType::kI64}}),
              HasSubstr("is a float_list, not a int64_list"));
  EXPECT_THAT(Error("\xff", {{.name = "f"}}), HasSubstr("malformed"));
  EXPECT_THAT(Error(record.substr(0, record.size() - 1), {{.name = "f"}}),
              HasSubstr("malformed"));
  EXPECT_THAT(Thrown([&] {
                Dataset::TfRecord(
                    path_, {.features = {{.name = "f", .dtype = DType::kF64}}});
              }),
              HasSubstr("feature \"f\" cannot be f64: f32, i64 or u8"));
}

TEST_F(TfRecordTest, SkipsAndCountsDamagedRecords) {
  WriteTfRecords(path_, std::vector<std::string>{"one", "two", "three"});
  std::string file = ReadText(path_);
  file[kTfRecordFrame + 3 + 12] ^= 1;  // the data of the second record
  WriteText(path_, file);
  const BadRecords bad = BadRecords::Skip();
  const auto read = ReadAll(Dataset::TfRecord(path_, {.bad_records = bad}));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(RecordOf(read[1]), "three");
  EXPECT_EQ(bad.skipped(), 1);
  EXPECT_EQ(Thrown([&] { ReadAll(Dataset::TfRecord(path_)); }),
            path_ +
                ", byte 19: the record's data does not match its checksum "
                "(DataLoss)");
}

TEST_F(TfRecordTest, GivesAFileUpWhoseLengthsAreDamaged) {
  WriteTfRecords(dir_ / "a", std::vector<std::string>{"one", "two"});
  WriteTfRecords(dir_ / "b", std::vector<std::string>{"three"});
  std::string file = ReadText(dir_ / "a");
  file[kTfRecordFrame + 3] ^= 1;  // the length of the second record
  WriteText(dir_ / "a", file);
  const auto next = Dataset::TfRecord(dir_ / "?").Open();
  EXPECT_EQ(RecordOf(*next()), "one");
  EXPECT_THAT(Thrown([&] { next(); }),
              HasSubstr("the record's length does not match its checksum"));
  EXPECT_EQ(RecordOf(*next()), "three");
  EXPECT_THAT(
      Thrown([&] { ExampleTable::Open(Dataset::TfRecord(dir_ / "?")); }),
      HasSubstr("byte 19: the record's length does not match"));
}

TEST_F(TfRecordTest, BoundsTheLengthOfRecords) {
  WriteTfRecords(path_, std::vector<std::string>{"short", "much longer"});
  const auto next = Dataset::TfRecord(path_, {.max_record_bytes = 5}).Open();
  EXPECT_EQ(RecordOf(*next()), "short");
  EXPECT_THAT(Thrown([&] { next(); }),
              HasSubstr("the record is longer than 5 bytes"));
}

TEST_F(TfRecordTest, BatchesByNumberAreThoseInOrder) {
  std::vector<std::string> records;
  for (std::int64_t i = 0; i < 1000; ++i) {
    records.push_back(EncodeTfExample({{"i", Tensor::Scalar(i)}}));
  }
  WriteTfRecords(path_, records);
  const Dataset dataset =
      Dataset::TfRecord(path_,
                        {.features = {{.name = "i", .dtype = DType::kI64}}})
          .Batch(300);
  const auto batches = ReadAll(dataset);
  const ExampleTable table = ExampleTable::Open(dataset);
  ASSERT_EQ(table.size(), 4);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(table.At(i), batches.at(static_cast<std::size_t>(i)));
  }
}

}  // namespace
}  // namespace capstan
