#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/dataset.h"
#include "dataset/read_all_test.h"
#include "dataset/thrown_test.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LibSvmTest : public ::testing::Test {
 protected:
  Dataset Of(std::string_view content, LibSvmOptions options = {}) {
    WriteText(path_, content);
    return Dataset::LibSvm(path_, std::move(options));
  }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "f.svm";
};

TEST_F(LibSvmTest, ReadsSparseRows) {
  const auto rows =
      ReadAll(Of("+1 1:0.5 10:2 # a comment\r\n\n# nothing\n-1\n0.5 2:-3e1"));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["y"], Tensor::Scalar(1.0f));
  EXPECT_THAT(Elements<std::int64_t>(rows[0]["ids"]), ElementsAre(0, 9));
  EXPECT_THAT(Elements<float>(rows[0]["values"]), ElementsAre(0.5, 2));
  EXPECT_EQ(rows[1]["y"], Tensor::Scalar(-1.0f));
  EXPECT_THAT(Elements<std::int64_t>(rows[1]["ids"]), IsEmpty());
  EXPECT_THAT(Elements<std::int64_t>(rows[2]["ids"]), ElementsAre(1));
  EXPECT_THAT(Elements<float>(rows[2]["values"]), ElementsAre(-30));
}

TEST_F(LibSvmTest, ReadsDenseRows) {
  const auto rows = ReadAll(
      Of("1 0:5 2:6\n0 1:7\n", {.num_features = 3, .one_based = false}));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(Elements<float>(rows[0]["x"]), ElementsAre(5, 0, 6));
  EXPECT_THAT(Elements<float>(rows[1]["x"]), ElementsAre(0, 7, 0));
}

TEST_F(LibSvmTest, SparseRowsCanBePadded) {
  const auto batches = ReadAll(
      Of("1 1:1 2:2\n0 5:5\n").PaddedBatch(2, {.padding = {{"ids", -1}}}));
  EXPECT_EQ(batches[0]["ids"],
            Tensor::FromValues<std::int64_t>({2, 2}, {0, 1, 4, -1}));
}

TEST_F(LibSvmTest, SparseRowsOfOneLengthCanBeBatched) {
  const Dataset dataset = Of("1 1:1 2:2\n0 5:5 7:7\n1 1:1\n");
  const auto next = dataset.Batch(2).Open();
  EXPECT_EQ((*next())["ids"],
            Tensor::FromValues<std::int64_t>({2, 2}, {0, 1, 4, 6}));
  EXPECT_THAT(Thrown([&] { ReadAll(dataset.Batch(3)); }),
              HasSubstr("in element 2 of it \"ids\" is i64 [1], in the first "
                        "i64 [2]"));
}

TEST_F(LibSvmTest, NamesThePlaceOfABadRecord) {
  const auto error = [&](std::string_view line, LibSvmOptions options = {}) {
    return Thrown(
        [&] { ReadAll(Of("1 1:1\n" + std::string(line) + "\n", options)); });
  };
  EXPECT_THAT(error("x 1:2"),
              HasSubstr("f.svm:2: label \"x\" is not a number"));
  EXPECT_THAT(error("1 2"), HasSubstr(":2: \"2\" is not feature:value"));
  EXPECT_THAT(error("1 2:"), HasSubstr("\"2:\" is not feature:value"));
  EXPECT_THAT(error("1 2:3x"), HasSubstr("\"2:3x\" is not feature:value"));
  EXPECT_THAT(error("1 99999999999999999999:1"), HasSubstr("is not feature"));
  EXPECT_THAT(error("1 0:1"), HasSubstr("feature 0 is out of range"));
  EXPECT_THAT(error("1 3:1", {.num_features = 2}),
              HasSubstr("feature 3 is out of range"));
  EXPECT_THAT(error("1 3:1 3:1"), HasSubstr("features must ascend"));
}

TEST_F(LibSvmTest, ABadRecordByNumberIsNamedByItsLine) {
  const Dataset dataset =
      Of("\xef\xbb\xbf"
         "1 1:1\n\n2 x\n");
  const ExampleTable table = ExampleTable::Open(dataset);
  EXPECT_EQ(table.At(0)["y"], Tensor::Scalar(1.0f));
  EXPECT_THAT(Thrown([&] { table.At(1); }), HasSubstr("f.svm:3: \"x\""));
}

TEST_F(LibSvmTest, SkipsAndCountsBadRecords) {
  const BadRecords bad = BadRecords::Skip();
  const auto rows =
      ReadAll(Of("1 1:1\n2 1:1 x\n3 2:2\n", {.bad_records = bad}));
  ASSERT_EQ(rows.size(), 2u);
  // Nothing is left of the bad row.
  EXPECT_THAT(Elements<std::int64_t>(rows[1]["ids"]), ElementsAre(1));
  EXPECT_EQ(bad.skipped(), 1);
}

TEST_F(LibSvmTest, IsReadByNumber) {
  const Dataset dataset = Of("1 1:1\n\n#\n2 2:2 3:3\n  \n3");
  const auto rows = ReadAll(dataset);
  const ExampleTable table = ExampleTable::Open(dataset);
  ASSERT_EQ(table.size(), 3);
  for (const std::int64_t i : {2, 0, 1}) {
    EXPECT_EQ(table.At(i), rows.at(static_cast<std::size_t>(i)));
  }
}

}  // namespace
}  // namespace capstan
