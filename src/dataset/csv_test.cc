#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "capstan/dataset.h"
#include "dataset/read_all_test.h"
#include "dataset/thrown_test.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = CsvColumn::Kind;

class CsvTest : public ::testing::Test {
 protected:
  // A dataset of one file with this content.
  Dataset Of(std::string_view content, CsvOptions options = {}) {
    WriteText(path_, content);
    return Dataset::Csv(path_, std::move(options));
  }
  // The scalar column "a".
  std::vector<float> A(std::string_view content, CsvOptions options = {}) {
    std::vector<float> values;
    for (const Example& row : ReadAll(Of(content, std::move(options)))) {
      values.push_back(Elements<float>(row["a"])[0]);
    }
    return values;
  }
  // What reading the content throws, without the path of the directory.
  std::string Error(std::string_view content, CsvOptions options = {}) {
    std::string text =
        Thrown([&] { ReadAll(Of(content, std::move(options))); });
    if (const auto at = text.find(dir_.path()); at != text.npos) {
      text.erase(at, dir_.path().size() + 1);
    }
    return text;
  }

  testing::TempDir dir_;
  const std::string path_ = dir_ / "f.csv";
};

TEST_F(CsvTest, ReadsNumbersByTheHeader) {
  const auto rows = ReadAll(Of("a,b\n1,2.5\n-3,4e2\n"));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[0].names(), ElementsAre("a", "b"));
  EXPECT_EQ(rows[0]["a"], Tensor::Scalar(1.0f));
  EXPECT_EQ(rows[0]["b"], Tensor::Scalar(2.5f));
  EXPECT_EQ(rows[1]["a"], Tensor::Scalar(-3.0f));
  EXPECT_EQ(rows[1]["b"], Tensor::Scalar(400.0f));
}

TEST_F(CsvTest, ReadsAllFormsOfNumbers) {
  EXPECT_THAT(A("a\n0\n00012\n123456789\n1234567890\n 7\t\n+8\n.5\n5.\n1e-3\n"
                "-0.25\n16777217\n340282346638528859811704183484516925440\n"),
              ElementsAre(0, 12, 123456789, 1234567890, 7, 8, .5f, 5, 1e-3f,
                          -.25f, 16777216, std::numeric_limits<float>::max()));
  EXPECT_TRUE(std::isnan(A("a\nnan\n")[0]));
  EXPECT_TRUE(std::isinf(A("a\n-inf\n")[0]));
  EXPECT_TRUE(std::signbit(A("a\n-0\n")[0]));
}

// A number is rounded correctly on every path through the parser.
TEST_F(CsvTest, RoundsNumbersAsTheStandardLibraryDoes) {
  Random random(1);
  std::string content = "a\n";
  std::vector<float> expected;
  for (int i = 0; i < 50'000; ++i) {
    std::string text = random.Chance(0.3) ? "-" : "";
    text += std::to_string(random.Below(uint64_t{1} << random.Below(40)));
    if (random.Chance(0.7)) text.insert(text.size() - random.Below(2), ".");
    if (random.Chance(0.5)) text += std::to_string(random.Below(99'999));
    if (random.Chance(0.1)) text += "e-" + std::to_string(random.Below(30));
    expected.push_back(std::strtof(text.c_str(), nullptr));
    content += text + "\n";
  }
  EXPECT_EQ(A(content), expected);
}

TEST_F(CsvTest, ReadsLinesHoweverTheyEnd) {
  EXPECT_THAT(A("a\r\n1\r\n2\r\n"), ElementsAre(1, 2));
  EXPECT_THAT(A("a\n1\n2"), ElementsAre(1, 2));
  EXPECT_THAT(A("a\n1\n2\r"), ElementsAre(1, 2));
  EXPECT_THAT(A("a\n\n1\n\r\n\n2\n\n"), ElementsAre(1, 2));
  EXPECT_THAT(A("a\n"), ElementsAre());
  EXPECT_THAT(A("a"), ElementsAre());
}

TEST_F(CsvTest, ReadsQuotedFields) {
  EXPECT_THAT(A("\"a\",\"b,c\"\n\"1\",2\n3,\"4\"\n"), ElementsAre(1, 3));
  const CsvOptions words = {
      .columns = {
          {.name = "w",
           .kind = Kind::kVocabulary,
           .vocabulary = {"plain", "a,b", "say \"hi\"", "two\nlines", ""}}}};
  const auto rows = ReadAll(
      Of("w\n\"two\nlines\"\nplain\n\"a,b\"\r\n\"say \"\"hi\"\"\"\n\"\"\n",
         words));
  std::vector<std::int64_t> ids;
  for (const Example& row : rows) ids.push_back(ValueOf(row, "w"));
  EXPECT_THAT(ids, ElementsAre(3, 0, 1, 2, 4));
}

TEST_F(CsvTest, AQuotedFieldMayBeLongerThanTheBuffer) {
  const std::string longer(600'000, '\n');
  const auto options = CsvOptions{
      .columns = {{.name = "w", .kind = Kind::kHash, .buckets = 1'000'000},
                  {.name = "a"}}};
  const auto rows =
      ReadAll(Of("w,a\nx,1\n\"" + longer + "\",2\ny,3\n", options));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(ValueOf(rows[1], "w"),
            static_cast<std::int64_t>(Hash64(longer) % 1'000'000));
  EXPECT_EQ(rows[2]["a"], Tensor::Scalar(3.0f));
}

TEST_F(CsvTest, BoundsTheLengthOfALine) {
  const std::string longer = "a\n1\n" + std::string(17'000'000, '7');
  EXPECT_EQ(Error(longer + "\n2\n"),
            "f.csv:3: a record is longer than 16777216 bytes "
            "(InvalidArgument)");
  const BadRecords bad = BadRecords::Skip();
  EXPECT_THAT(A(longer, {.bad_records = bad}), ElementsAre(1));
  EXPECT_EQ(bad.skipped(), 1);
}

TEST_F(CsvTest, QuotesCanBeTurnedOff) {
  CsvOptions options = {
      .quote = '\0',
      .columns = {
          {.name = "w", .kind = Kind::kVocabulary, .vocabulary = {"\"x"}}}};
  EXPECT_EQ(ReadAll(Of("w\n\"x\n", options)).size(), 1u);
}

TEST_F(CsvTest, GroupsColumnsIntoTensors) {
  const CsvOptions options = {.delimiter = ';',
                              .columns = {{.name = "y", .kind = Kind::kInteger},
                                          {.name = "b", .output = "x"},
                                          {.name = "a", .output = "x"}}};
  // In the order of the list, not of the file; "c" is not listed.
  const auto rows = ReadAll(Of("a;b;c;y\n1;2;?;-9007199254740993\n", options));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_THAT(rows[0].names(), ElementsAre("y", "x"));
  EXPECT_EQ(rows[0]["x"], Tensor::FromValues({2}, {2.0f, 1.0f}));
  EXPECT_EQ(ValueOf(rows[0], "y"), -9007199254740993);
}

TEST_F(CsvTest, ReadsIntegersOfAllSizes) {
  const CsvOptions options = {
      .columns = {{.name = "i", .kind = Kind::kInteger, .missing = -1},
                  {.name = "rest", .kind = Kind::kIgnored}}};
  std::vector<std::int64_t> values;
  for (const Example& row :
       ReadAll(Of("i,rest\n9223372036854775807,\n-9223372036854775808,\n,\n"
                  " +5 ,\n",
                  options))) {
    values.push_back(ValueOf(row, "i"));
  }
  EXPECT_THAT(values, ElementsAre(INT64_MAX, INT64_MIN, -1, 5));
  EXPECT_EQ(
      Error("i,rest\n9223372036854775808,\n", options),
      "f.csv:2: column 1 \"i\": \"9223372036854775808\" is not an integer "
      "(InvalidArgument)");
}

TEST_F(CsvTest, NormalisesNumbers) {
  const auto with = [&](CsvColumn column) {
    column.name = "a";
    return A("a,b\n3,\n,\n-2,\n",
             {.columns = {column, {.name = "b", .kind = Kind::kIgnored}}});
  };
  EXPECT_THAT(with({.missing = 1, .mean = 1, .stddev = 2}),
              ElementsAre(1, 0, -1.5));
  EXPECT_THAT(with({.missing = 0, .log1p = true}),
              ElementsAre(std::log(4.0f), 0, 0));
  EXPECT_THAT(with({.missing = 0, .log1p = true, .mean = 1}),
              ElementsAre(std::log(4.0f) - 1, -1, -1));
}

TEST_F(CsvTest, HashesCategories) {
  const CsvOptions options = {
      .columns = {
          {.name = "c",
           .kind = Kind::kHash,
           .output = "ids",
           .buckets = 1000,
           .seed = 3,
           .offset = 5000},
          {.name = "d", .kind = Kind::kHash, .output = "ids", .buckets = 7}}};
  const auto rows = ReadAll(Of("c,d\nred,05db9164\n,\"x\"\n", options));
  const auto bucket = [](std::string_view text, std::uint64_t seed,
                         std::uint64_t buckets) {
    return static_cast<std::int64_t>(Hash64(text, seed) % buckets);
  };
  EXPECT_THAT(
      Elements<std::int64_t>(rows[0]["ids"]),
      ElementsAre(5000 + bucket("red", 3, 1000), bucket("05db9164", 0, 7)));
  EXPECT_THAT(Elements<std::int64_t>(rows[1]["ids"]),
              ElementsAre(5000 + bucket("", 3, 1000), bucket("x", 0, 7)));
}

// The value that the documentation promises, on every machine.
TEST_F(CsvTest, TheHashNeverChanges) {
  EXPECT_EQ(Hash64("05db9164"), 0xbde8c6a4234d4bd0u);
}

TEST_F(CsvTest, LooksWordsUp) {
  CsvColumn column = {.name = "w",
                      .kind = Kind::kVocabulary,
                      .vocabulary = {"red", "green"},
                      .unknown = 9,
                      .offset = 10};
  const auto rows = ReadAll(Of("w\nblue\ngreen\n", {.columns = {column}}));
  EXPECT_EQ(ValueOf(rows[0], "w"), 19);
  EXPECT_EQ(ValueOf(rows[1], "w"), 11);
  column.unknown.reset();
  EXPECT_EQ(Error("w\nred\nblue\n", {.columns = {column}}),
            "f.csv:3: column 1 \"w\": \"blue\" is not in the vocabulary "
            "(InvalidArgument)");
}

TEST_F(CsvTest, ReadsTheCriteoLogs) {
  std::string line = "1";
  for (int i = 0; i < 13; ++i) line += i == 2 ? "\t" : "\t" + std::to_string(i);
  for (int i = 0; i < 26; ++i) line += i == 25 ? "\t" : "\t05db9164";
  const auto rows =
      ReadAll(Of(line + "\n" + line + "\n", CsvOptions::Criteo(1000)));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1]["label"], Tensor::Scalar(1.0f));
  const auto dense = Elements<float>(rows[1]["dense"]);
  ASSERT_EQ(dense.size(), 13u);
  EXPECT_EQ(dense[2], 0);
  EXPECT_FLOAT_EQ(dense[12], std::log(13.0f));
  const auto ids = Elements<std::int64_t>(rows[1]["ids"]);
  ASSERT_EQ(ids.size(), 26u);
  EXPECT_EQ(ids[3],
            3000 + static_cast<std::int64_t>(Hash64("05db9164") % 1000));
  EXPECT_EQ(ids[25], 25000 + static_cast<std::int64_t>(Hash64("") % 1000));
}

TEST_F(CsvTest, ReadsManyFilesInTheOrderOfTheirNames) {
  WriteText(dir_ / "p1.csv", "a\n1\n");
  WriteText(dir_ / "p0.csv", "b,a\n5,0\n");
  WriteText(dir_ / "p2.csv", "a\n2\n");
  std::vector<float> values;
  for (const Example& row :
       ReadAll(Dataset::Csv(dir_ / "p*.csv", {.columns = {{.name = "a"}}}))) {
    values.push_back(Elements<float>(row["a"])[0]);
  }
  EXPECT_THAT(values, ElementsAre(0, 1, 2));
}

TEST_F(CsvTest, ReadsAFileLargerThanItsBuffer) {
  std::string content = "a,b\n";
  for (int i = 0; i < 100'000; ++i) {
    content += std::to_string(i) + "," + std::to_string(i % 10) + "\n";
  }
  const auto batches = ReadAll(Of(content).Batch(100'000));
  ASSERT_EQ(batches.size(), 1u);
  const auto a = Elements<float>(batches[0]["a"]);
  ASSERT_EQ(a.size(), 100'000u);
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i], static_cast<float>(i));
  }
}

TEST_F(CsvTest, NamesThePlaceOfABadRecord) {
  EXPECT_EQ(Error("a,b\n1,2\n\n3,x\n"),
            "f.csv:4: column 2 \"b\": \"x\" is not a number (InvalidArgument)");
  EXPECT_EQ(Error("a,b\n1,\n"),
            "f.csv:2: column 2 \"b\": is empty, and `missing` is not given "
            "(InvalidArgument)");
  EXPECT_EQ(Error("a,b\n1\n"),
            "f.csv:2: 1 columns; 2 were expected (InvalidArgument)");
  EXPECT_EQ(Error("a,b\n1,2,3,4\n"),
            "f.csv:2: 4 columns; 2 were expected (InvalidArgument)");
  EXPECT_EQ(Error("a,b\n\"1\"x,2\n"),
            "f.csv:2: column 1 \"a\": something follows the closing quote "
            "(InvalidArgument)");
  EXPECT_EQ(Error("a,b\n1,2\n\"1,2\n"),
            "f.csv:3: a quote is not closed (InvalidArgument)");
  EXPECT_EQ(Error("a\n\"1\n\n\"\n"),
            "f.csv:2: column 1 \"a\": \"1\\n\\n\" is not a number "
            "(InvalidArgument)");
  EXPECT_EQ(Error("a\n\"1\"\n\"\n\n2\"\n"),
            "f.csv:3: column 1 \"a\": \"\\n\\n2\" is not a number "
            "(InvalidArgument)");
}

TEST_F(CsvTest, LinesAreCountedThroughQuotes) {
  EXPECT_EQ(Error("w,a\n\"x\ny\",1\nz,?\n",
                  {.columns = {{.name = "w", .kind = Kind::kHash, .buckets = 2},
                               {.name = "a"}}}),
            "f.csv:4: column 2 \"a\": \"?\" is not a number (InvalidArgument)");
}

TEST_F(CsvTest, SkipsAByteOrderMark) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_THAT(A(mark + "a\n1\n"), ElementsAre(1));
  EXPECT_THAT(A(mark + "\"a\"\n1\n"), ElementsAre(1));
  const CsvOptions options = {.header = false, .columns = {{.name = "a"}}};
  EXPECT_THAT(A(mark + "1\n2\n", options), ElementsAre(1, 2));
  EXPECT_THAT(A(mark, options), ElementsAre());
  EXPECT_EQ(Error(mark), "f.csv:1: the file has no header (InvalidArgument)");
  const Dataset dataset = Of(mark + "a\n1\nx\n");
  const ExampleTable table = ExampleTable::Open(dataset);
  ASSERT_EQ(table.size(), 2);
  EXPECT_EQ(table.At(0)["a"], Tensor::Scalar(1.0f));
  EXPECT_THAT(Thrown([&] { table.At(1); }), HasSubstr("f.csv:3: column 1"));
  // Only at the start of the file.
  EXPECT_THAT(Error("a\n" + mark + "1\n"), HasSubstr("is not a number"));
}

TEST_F(CsvTest, ShowsNamesOfTheHeaderEscapedAndCut) {
  const std::string name = "\x1b[2J" + std::string(10'000, 'n');
  std::string header;
  for (int i = 0; i < 100; ++i) header += std::to_string(i) + name + ",";
  header.pop_back();
  const auto expect_readable = [](const std::string& error) {
    EXPECT_THAT(error, HasSubstr("\\x1b[2Jnnn"));
    EXPECT_EQ(error.find('\x1b'), error.npos);
    EXPECT_LT(error.size(), 3000u);
  };
  const std::string missing =
      Error(header + "\n", {.columns = {{.name = "c"}}});
  expect_readable(missing);
  EXPECT_THAT(missing, HasSubstr("...\" and 80 more (InvalidArgument)"));
  expect_readable(Error(name + "," + name + "\n"));
  expect_readable(Error(name + "\nx\n"));
  const auto rows =
      ReadAll(Of(name + "," + header + "\n1" + std::string(100, ',') + "\n",
                 {.columns = {{.name = name}}}));
  expect_readable(Thrown([&] { rows.at(0)["c"]; }));
}

TEST_F(CsvTest, NamesWhatIsWrongWithTheHeader) {
  EXPECT_EQ(Error("a,b\n", {.columns = {{.name = "c"}}}),
            "f.csv:1: Csv: no column \"c\" in the header: \"a\", \"b\" "
            "(InvalidArgument)");
  EXPECT_EQ(Error("a,a\n"),
            "f.csv:1: Csv: the header has \"a\" twice (InvalidArgument)");
  EXPECT_EQ(Error(""), "f.csv:1: the file has no header (InvalidArgument)");
}

TEST_F(CsvTest, GoesOnBehindABadRecord) {
  const auto next = Of("a\n1\nx\n3\n").Open();
  EXPECT_EQ((*next())["a"], Tensor::Scalar(1.0f));
  EXPECT_THAT(Thrown([&] { next(); }), HasSubstr("f.csv:3"));
  EXPECT_EQ((*next())["a"], Tensor::Scalar(3.0f));
  EXPECT_EQ(next(), std::nullopt);
}

TEST_F(CsvTest, SkipsAndCountsBadRecords) {
  const BadRecords bad = BadRecords::Skip();
  EXPECT_THAT(A("a\n1\nx\n3\n4,5\n6\n", {.bad_records = bad}),
              ElementsAre(1, 3, 6));
  EXPECT_EQ(bad.skipped(), 2);
}

TEST_F(CsvTest, SkipsABadRecordOfManyLinesAsOne) {
  const BadRecords bad = BadRecords::Skip();
  EXPECT_THAT(A("a,b\n1,1\nx,\"9\n9,9\n\"\n2,2\n", {.bad_records = bad}),
              ElementsAre(1, 2));
  EXPECT_EQ(bad.skipped(), 1);
}

TEST_F(CsvTest, RefusesOptionsThatMakeNoSense) {
  const auto error = [](CsvOptions options) {
    return Thrown([&] { Dataset::Csv("f", options); });
  };
  EXPECT_EQ(error({.header = false}),
            "Csv: a file without a header needs all its columns listed "
            "(InvalidArgument)");
  EXPECT_EQ(error({.columns = {{.name = "c", .kind = Kind::kHash}}}),
            "Csv: column \"c\" is hashed, and needs buckets of at least 1 "
            "(InvalidArgument)");
  EXPECT_EQ(
      error(
          {.columns = {{.name = "a", .output = "o"},
                       {.name = "b", .kind = Kind::kInteger, .output = "o"}}}),
      "Csv: output \"o\" has both floats and integers: column \"b\" "
      "(InvalidArgument)");
  EXPECT_EQ(error({.columns = {{.name = "a"}, {.name = "a", .output = "o"}}}),
            "Csv: column \"a\" is listed twice (InvalidArgument)");
  EXPECT_EQ(error({.columns = {{.name = "o"}, {.name = "a", .output = "o"}}}),
            "Csv: two columns are called \"o\" (InvalidArgument)");
  EXPECT_EQ(error({.delimiter = '"'}),
            "Csv: the delimiter must be a character of its own "
            "(InvalidArgument)");
  EXPECT_EQ(error({.delimiter = '.'}),
            "Csv: the delimiter must not be a part of numbers "
            "(InvalidArgument)");
  EXPECT_THAT(error({.columns = {{.name = "a", .stddev = 0}}}),
              HasSubstr("cannot be divided by"));
}

TEST_F(CsvTest, AFileThatIsNotThereIsAnErrorOfTheReading) {
  const Dataset dataset = Dataset::Csv(dir_ / "none*.csv");
  EXPECT_THAT(Thrown([&] { ReadAll(dataset); }), HasSubstr("(NotFound)"));
}

TEST_F(CsvTest, IsReadByNumber) {
  const Dataset dataset =
      Of("w,a\r\nx,0\n\n\"y\ny\",1\r\n\r\nz,2\nv,3",
         {.columns = {{.name = "w", .kind = Kind::kHash, .buckets = 1000},
                      {.name = "a"}}});
  const auto rows = ReadAll(dataset);
  const ExampleTable table = ExampleTable::Open(dataset);
  ASSERT_EQ(table.size(), 4);
  for (const std::int64_t i : {3, 1, 0, 2}) {
    EXPECT_EQ(table.At(i), rows.at(static_cast<std::size_t>(i)));
  }
}

TEST_F(CsvTest, BatchesByNumberSpanFiles) {
  WriteText(dir_ / "p0.csv", "a\n0\n1\n2\n");
  WriteText(dir_ / "p1.csv", "a\n");
  WriteText(dir_ / "p2.csv", "a\n3\n4\n");
  for (const CsvOptions& options :
       {CsvOptions(), CsvOptions{.columns = {{.name = "a"}}}}) {
    const Dataset dataset = Dataset::Csv(dir_ / "p*.csv", options).Batch(4);
    const ExampleTable table = ExampleTable::Open(dataset);
    const auto batches = ReadAll(dataset);
    ASSERT_EQ(table.size(), 2);
    EXPECT_EQ(table.At(1), batches[1]);
    EXPECT_EQ(table.At(0), batches[0]);
  }
}

TEST_F(CsvTest, ABadRecordByNumberIsNamedByItsLine) {
  const Dataset dataset = Of("a\n\"1\n\"\n\nx\n3\n");
  const ExampleTable table = ExampleTable::Open(dataset);
  EXPECT_EQ(table.At(2)["a"], Tensor::Scalar(3.0f));
  EXPECT_THAT(Thrown([&] { table.At(1); }),
              HasSubstr("f.csv:5: column 1 \"a\": \"x\" is not a number"));
}

TEST_F(CsvTest, SkippedRecordsHaveNoNumbers) {
  EXPECT_THAT(
      Thrown([&] {
        ExampleTable::Open(Of("a\n1\n", {.bad_records = BadRecords::Skip()}));
      }),
      HasSubstr("Csv cannot be read by number: it skips bad records"));
}

TEST_F(CsvTest, AFileThatChangedIsFoundOut) {
  const ExampleTable table = ExampleTable::Open(Of("a\n1\n2\n3\n"));
  WriteText(path_, "a\n");
  EXPECT_THAT(Thrown([&] { table.At(2); }), HasSubstr("has changed"));
}

}  // namespace
}  // namespace capstan
