// Files that are truncated at each byte, or have one byte wrong, give rows or
// an Error, and never anything worse. Under the sanitizers this shows that
// nothing beyond the bytes is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "capstan/dataset.h"
#include "dataset/read_all_test.h"
#include "testing/source_path.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using Make = std::function<Dataset(const std::string& path)>;

// The number of rows, read in order and by number; -1 if reading throws.
std::int64_t Rows(const Dataset& dataset) {
  try {
    return static_cast<std::int64_t>(ReadAll(dataset).size());
  } catch (const Error&) {
    return -1;
  }
}
std::int64_t RowsByNumber(const Dataset& dataset) {
  try {
    const ExampleTable table = ExampleTable::Open(dataset);
    for (std::int64_t i = 0; i < table.size(); ++i) table.At(i);
    return table.size();
  } catch (const Error&) {
    return -1;
  }
}

struct Format {
  std::string name;
  std::string content;
  Make make;
  // Whether a truncated file is always an error.
  bool knows_its_length;
};

std::vector<Format> Formats() {
  const std::string data = testing::SourcePath("src/dataset/testdata/");
  const std::vector<TfFeature> features = {
      {.name = "id", .dtype = DType::kI64},
      {.name = "x", .shape = Shape({2})},
      {.name = "name", .dtype = DType::kU8, .shape = std::nullopt}};
  const auto idx = [](const std::string& path) {
    return Dataset::Idx(path, "", {.scale = true});
  };
  return {
      {"csv", "a,b\n1,\"2\"\r\n\n-3.5,\"4\"\n1e5,6",
       [](const std::string& path) { return Dataset::Csv(path); }, false},
      {"libsvm", "1 1:2 3:4 # x\n\n-1 5:6\n",
       [](const std::string& path) {
         return Dataset::LibSvm(path, {.num_features = 5});
       },
       false},
      {"tfrecord", ReadText(data + "two.tfrecord"),
       [features](const std::string& path) {
         return Dataset::TfRecord(path, {.features = features});
       },
       false},
      {"idx", ReadText(data + "images.idx"), idx, true},
      {"idx.gz", ReadText(data + "images.idx.gz"), idx, true},
      {"npy", ReadText(data + "array.npy"),
       [](const std::string& path) { return Dataset::Npy(path, "x"); }, true},
  };
}

TEST(DamagedFilesTest, CutAtEachByte) {
  const testing::TempDir dir;
  for (const Format& format : Formats()) {
    EXPECT_EQ(Rows(format.make(dir / "none")), -1);
    for (std::size_t size = 0; size < format.content.size(); ++size) {
      SCOPED_TRACE(format.name + " cut at " + std::to_string(size));
      WriteText(dir / "cut", format.content.substr(0, size));
      const std::int64_t rows = Rows(format.make(dir / "cut"));
      EXPECT_EQ(rows, RowsByNumber(format.make(dir / "cut")));
      if (format.knows_its_length) {
        EXPECT_EQ(rows, -1);
      }
    }
    WriteText(dir / "whole", format.content);
    EXPECT_GT(Rows(format.make(dir / "whole")), 0);
  }
}

TEST(DamagedFilesTest, EachByteWrong) {
  const testing::TempDir dir;
  for (const Format& format : Formats()) {
    for (std::size_t at = 0; at < format.content.size(); ++at) {
      for (const char wrong : {'\0', '\xff', '"', '\n', '7'}) {
        SCOPED_TRACE(format.name + " wrong at " + std::to_string(at));
        std::string content = format.content;
        if (content[at] == wrong) continue;
        content[at] = wrong;
        WriteText(dir / "wrong", content);
        const std::int64_t rows = Rows(format.make(dir / "wrong"));
        EXPECT_EQ(rows, RowsByNumber(format.make(dir / "wrong")));
        // A checksum covers every byte of the file.
        if (format.name == "tfrecord") {
          EXPECT_EQ(rows, -1);
        }
      }
    }
  }
}

// The same for the content of the frame, which no checksum protects here.
TEST(DamagedFilesTest, EachByteOfATfExampleWrongOrCut) {
  const testing::TempDir dir;
  const std::string record =
      EncodeTfExample({{"id", Tensor::Scalar(std::int64_t{300})},
                       {"x", Tensor::FromValues({2}, {1.0f, 2.0f})}});
  std::vector<std::string> cut;
  std::vector<std::string> wrong;
  for (std::size_t at = 0; at < record.size(); ++at) {
    cut.push_back(record.substr(0, at));
    for (int value = 0; value < 256; ++value) {
      wrong.push_back(record);
      wrong.back()[at] = static_cast<char>(value);
    }
  }
  WriteTfRecords(dir / "cut", cut);
  WriteTfRecords(dir / "wrong", wrong);
  const BadRecords bad = BadRecords::Skip();
  const auto read = [&](const std::string& path) {
    return Rows(Dataset::TfRecord(
        path, {.features = {{.name = "id", .dtype = DType::kI64},
                            {.name = "x", .shape = Shape({2})}},
               .bad_records = bad}));
  };
  EXPECT_EQ(read(dir / "cut"), 0);
  EXPECT_EQ(bad.skipped(), static_cast<std::int64_t>(cut.size()));
  // Some changes give other numbers, or leave the record unchanged.
  const std::int64_t good = read(dir / "wrong");
  EXPECT_GE(good, static_cast<std::int64_t>(record.size()));
  EXPECT_EQ(good + bad.skipped(),
            static_cast<std::int64_t>(wrong.size() + cut.size()));
}

}  // namespace
}  // namespace capstan
