// Idx and Npy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "capstan/dataset.h"
#include "dataset/gzip_test.h"
#include "dataset/read_all_test.h"
#include "dataset/thrown_test.h"
#include "testing/source_path.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kData = testing::SourcePath("src/dataset/testdata/");

// A .npy file with the given header and elements.
std::string NpyOf(std::string_view header, std::string_view elements) {
  std::string file("\x93NUMPY\x01\0", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  return file += elements;
}

TEST(IdxTest, ReadsImagesAndLabels) {
  for (const char* images : {"images.idx", "images.idx.gz"}) {
    const Dataset dataset = Dataset::Idx(kData + images, kData + "labels.idx");
    EXPECT_EQ(dataset.Cardinality(), 3);
    const auto rows = ReadAll(dataset);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows[1]["x"],
              Tensor::FromValues<std::uint8_t>({2, 2}, {4, 5, 6, 7}));
    EXPECT_EQ(ValueOf(rows[1], "y"), 8);
    EXPECT_EQ(ExampleTable::Open(dataset).At(2), rows[2]);
  }
}

TEST(IdxTest, CanScale) {
  const auto rows = ReadAll(Dataset::Idx(
      kData + "images.idx", kData + "labels.idx", {.scale = true}));
  EXPECT_EQ(rows[0]["x"], Tensor::FromValues({2, 2}, {0 / 255.f, 1 / 255.f,
                                                      2 / 255.f, 3 / 255.f}));
}

TEST(IdxTest, NeedsNoLabels) {
  const auto rows = ReadAll(Dataset::Idx(kData + "labels.idx", ""));
  EXPECT_THAT(rows[0].names(), ElementsAre("x"));
}

TEST(IdxTest, IsReadOnceForAll) {
  testing::TempDir dir;
  WriteText(dir / "i", ReadText(kData + "images.idx"));
  const Dataset dataset = Dataset::Idx(dir / "i", "");
  EXPECT_EQ(ReadAll(dataset.Repeat(2)).size(), 6u);
  WriteText(dir / "i", "");
  EXPECT_EQ(ReadAll(dataset).size(), 3u);
}

TEST(IdxTest, RefusesFilesThatDoNotBelongTogether) {
  EXPECT_THAT(
      Thrown([] {
        ReadAll(Dataset::Idx(kData + "images.idx", kData + "images.idx"));
      }),
      HasSubstr("labels are of shape [n], not [3, 2, 2]"));
  testing::TempDir dir;
  WriteText(dir / "l", std::string("\0\0\x08\x01\0\0\0\x01\x05", 9));
  EXPECT_THAT(
      Thrown([&] { ReadAll(Dataset::Idx(kData + "images.idx", dir / "l")); }),
      HasSubstr("1 labels for 3 images (DataLoss)"));
}

TEST(IdxTest, RefusesOtherFiles) {
  EXPECT_THAT(Thrown([] { ReadAll(Dataset::Idx(kData + "array.npy", "")); }),
              HasSubstr("array.npy: not an IDX file (DataLoss)"));
  EXPECT_THAT(Thrown([] { Dataset::Idx(kData + "none", "").Cardinality(); }),
              HasSubstr("(NotFound)"));
  EXPECT_THAT(Thrown([] { ReadAll(Dataset::Idx(kData, "")); }),
              HasSubstr("is a directory"));
  testing::TempDir dir;
  WriteText(dir / "i", std::string("\0\0\x0d\x01\0\0\0\0", 8));
  EXPECT_THAT(Thrown([&] { ReadAll(Dataset::Idx(dir / "i", "")); }),
              HasSubstr("the elements are of IDX type 13"));
}

// A gzip file that expands to gigabytes, with a header that promises little: a
// reader that decompressed more than promised would hit the damage.
std::string Bomb(const std::string& header) {
  std::string bomb = Gzipped(header + std::string(4 << 20, '\0'));
  bomb.resize(bomb.size() / 2);
  return bomb.append(1000, '\xff');
}

TEST(IdxTest, DecompressesNoMoreThanTheHeaderPromises) {
  testing::TempDir dir;
  WriteText(dir / "i", Bomb({"\0\0\x08\x01\0\0\0\x0c", 8}));
  const Dataset dataset = Dataset::Idx(dir / "i", "");
  EXPECT_EQ(dataset.Cardinality(), 12);
  EXPECT_THAT(
      Thrown([&] { ReadAll(dataset); }),
      HasSubstr("/i: the header says 12 bytes, and there are more (DataLoss)"));
}

TEST(NpyTest, DecompressesNoMoreThanTheHeaderPromises) {
  testing::TempDir dir;
  WriteText(
      dir / "a",
      Bomb(NpyOf("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
                 "")));
  const Dataset dataset = Dataset::Npy(dir / "a", "x");
  EXPECT_EQ(dataset.Cardinality(), 3);
  EXPECT_THAT(
      Thrown([&] { ReadAll(dataset); }),
      HasSubstr("/a: the header says 12 bytes, and there are more (DataLoss)"));
}

TEST(NpyTest, ReadsTheRowsOfAnArray) {
  const Dataset dataset = Dataset::Npy(kData + "array.npy", "x");
  EXPECT_EQ(dataset.Cardinality(), 3);
  const auto rows = ReadAll(dataset);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(Elements<float>(rows[2]["x"]), ElementsAre(4, 5));
}

TEST(NpyTest, ReadsElementsThatAreNotAligned) {
  testing::TempDir dir;
  const auto rows = [&](std::string_view descr, std::string_view elements) {
    WriteText(dir / "a", NpyOf("{'descr': " + std::string(descr) +
                                   ", 'fortran_order': False, 'shape': (1,), }",
                               elements));
    return ReadAll(Dataset::Npy(dir / "a", "x"));
  };
  EXPECT_EQ(ValueOf(rows("'<i8'", {"\x05\0\0\0\0\0\0\0", 8})[0], "x"), 5);
  EXPECT_EQ(rows("'|b1'", "\x01")[0]["x"], Tensor::Scalar(true));
  EXPECT_THAT(Thrown([&] { rows("'|b1'", "\x02"); }),
              HasSubstr("/a: element 0 of a bool tensor is 2, not 0 or 1 "
                        "(DataLoss)"));
}

TEST(NpyTest, ReadsColumnsOfBigEndianIntegers) {
  testing::TempDir dir;
  WriteText(dir / "a",
            NpyOf("{'descr': '>u2', 'fortran_order': True, 'shape': (2, 3), }",
                  {"\0\1\0\2\0\3\0\4\0\5\xff\xff", 12}));
  const Dataset dataset = Dataset::Npy(dir / "a", "x");
  EXPECT_EQ(dataset.Cardinality(), 2);
  const auto rows = ReadAll(dataset);
  EXPECT_THAT(Elements<std::int32_t>(rows.at(0)["x"]), ElementsAre(1, 3, 5));
  EXPECT_THAT(Elements<std::int32_t>(rows.at(1)["x"]),
              ElementsAre(2, 4, 65535));
}

TEST(NpyTest, RefusesWhatItCannotRead) {
  testing::TempDir dir;
  const auto error = [&](std::string_view header) {
    WriteText(dir / "a", NpyOf(header, "12345678"));
    return Thrown([&] { ReadAll(Dataset::Npy(dir / "a", "x")); });
  };
  EXPECT_THAT(error("{'descr': '<U2', 'fortran_order': False, 'shape': (1,)}"),
              HasSubstr("/a: elements of type '<U2' are not supported"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
              HasSubstr("a scalar has no rows"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False}"),
              HasSubstr("the header has no 'shape'"));
  EXPECT_THAT(
      error("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854"
            "775807, 2)}"),
      HasSubstr("(DataLoss)"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"),
              HasSubstr("(DataLoss)"));
  EXPECT_THAT(error("{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}"),
              HasSubstr("the header says 12 bytes, and there are 8"));
}

}  // namespace
}  // namespace capstan
