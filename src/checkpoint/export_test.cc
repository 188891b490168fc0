#include "checkpoint/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/small_checkpoint_test.h"
#include "checkpoint/tensor_file/crc32_zip.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "checkpoint/tensor_file/zip_writer.h"
#include "simulation/sim_file_system.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::SaveSmall;
using ::capstan::testing::SmallTensors;
using ::capstan::testing::SmallValues;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

using absl::StatusCode::kDataLoss;

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() : checkpoint_(*SaveSmall(from_, "", {})) {}

  // Changes the last byte of a server's file, which belongs to a tensor.
  void Damage(const std::string& file) {
    const std::string path = "ckpt-1/" + file;
    std::string content = *ReadFile(from_, path, 1 << 20);
    content.back() = static_cast<char>(content.back() ^ 1);
    ASSERT_OK(ReplaceFile(from_, path, AsBytes(content)));
  }

  SimFileSystem from_;
  SimFileSystem to_;
  Checkpoint checkpoint_;
};

TEST_F(ExportTest, SafetensorsHasWholeVariables) {
  for (const bool slots : {false, true}) {
    ASSERT_OK(ExportSafetensors(from_, "ckpt-1", checkpoint_.manifest, to_,
                                "out.safetensors", {.slots = slots}));
    const auto read = ReadSafetensors(to_, "out.safetensors");
    ASSERT_OK(read);
    EXPECT_EQ(read->metadata.at("step"), "0");
    const SmallValues expected = SmallTensors({});
    EXPECT_EQ(read->names.size(), slots ? expected.size() : 6u);
    for (size_t i = 0; i < read->names.size(); ++i) {
      EXPECT_EQ(read->tensors[i], expected.at(read->names[i]))
          << read->names[i];
    }
  }
  EXPECT_EQ(to_.List("")->size(), 1u);
}

TEST_F(ExportTest, NothingIsExportedOfWhatIsBad) {
  ASSERT_OK(ReplaceFile(to_, "out", AsBytes("old")));
  Damage("server-1.safetensors");
  const auto bad =
      StatusIs(kDataLoss, AllOf(HasSubstr("ckpt-1/server-1.safetensors"),
                                HasSubstr("tensor \"embedding[3:7].v\"")));
  const ExportOptions options{.slots = true};
  EXPECT_THAT(ExportSafetensors(from_, "ckpt-1", checkpoint_.manifest, to_,
                                "out", options),
              bad);
  EXPECT_THAT(
      ExportNpz(from_, "ckpt-1", checkpoint_.manifest, to_, "out", options),
      bad);
  EXPECT_EQ(ReadFile(to_, "out", 100).value(), "old");
  EXPECT_EQ(to_.List("")->size(), 1u);
}

TEST_F(ExportTest, DiskFull) {
  to_.SetCapacity(300);
  for (const auto& write : {ExportSafetensors, ExportNpz}) {
    EXPECT_THAT(write(from_, "ckpt-1", checkpoint_.manifest, to_, "out", {}),
                StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_TRUE(to_.List("")->empty());
  }
}

TEST(ListExportedTest, NamesThatCollide) {
  Manifest manifest = testing::SmallManifest({});
  manifest.variables[1].name = "embedding.m";
  EXPECT_OK(ListExported(manifest, {}));
  EXPECT_THAT(ListExported(manifest, {.slots = true}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"embedding.m\""),
                             HasSubstr("without slots"))));
}

TEST(ZipCrc32Test, Known) {
  EXPECT_EQ(ExtendZipCrc32(0, {}), 0u);
  EXPECT_EQ(ExtendZipCrc32(0, AsBytes("123456789")), 0xcbf43926u);
  EXPECT_EQ(ExtendZipCrc32(ExtendZipCrc32(0, AsBytes("1234")),
                           AsBytes("56789abcdefghijk")),
            ExtendZipCrc32(0, AsBytes("123456789abcdefghijk")));
}

// According to APPNOTE.TXT. tests/formats has Python read larger archives.
TEST(ZipWriterTest, Golden) {
  SimFileSystem files;
  auto file = files.CreateForWrite("z", IfExists::kFail);
  ASSERT_OK(file);
  ZipWriter zip(**file);
  ASSERT_OK(zip.Begin("a.npy", 3, ExtendZipCrc32(0, AsBytes("abc"))));
  EXPECT_THAT(zip.Finish(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("3 bytes of \"a.npy\"")));
  EXPECT_THAT(zip.Append(AsBytes("abcd")),
              StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK(zip.Append(AsBytes("abc")));
  ASSERT_OK(zip.Finish());
  const std::string member(
      "\x14\0\0\x08\0\0\0\0\x21\0\xc2\x41\x24\x35\3\0\0\0\3\0\0\0\5\0\0\0", 26);
  EXPECT_EQ(
      ReadFile(files, "z", 1000).value(),
      "PK\3\4" + member + "a.npyabc" + "PK\1\2" + std::string("\x14\0", 2) +
          member + std::string(14, '\0') + "a.npy" +
          std::string("PK\5\6\0\0\0\0\1\0\1\0\x33\0\0\0\x26\0\0\0\0\0", 22));
}

TEST_F(ExportTest, NpzMembersAreNpyFiles) {
  ASSERT_OK(ExportNpz(from_, "ckpt-1", checkpoint_.manifest, to_, "o.npz",
                      {.slots = true}));
  const std::string zip = *ReadFile(to_, "o.npz", 1 << 20);
  // tests/formats has numpy read such a file; this checks that the values are
  // there.
  for (const auto& [name, tensor] : SmallTensors({})) {
    const size_t at = zip.find(name + ".npy\x93NUMPY");
    ASSERT_NE(at, zip.npos) << name;
    const size_t end = zip.find('\n', at);
    if (name == "short") {  // bf16, the upper half of an f32
      const Bytes bits = tensor.view().bytes();
      for (size_t i = 0; i < bits.size(); i += 2) {
        EXPECT_EQ(zip.substr(end + 1 + 2 * i, 4),
                  std::string(2, '\0').append(AsText(bits.subspan(i, 2))));
      }
      continue;
    }
    EXPECT_EQ(zip.substr(end + 1, tensor.view().bytes().size()),
              AsText(tensor.view().bytes()))
        << name;
    EXPECT_EQ((end + 1 - at - name.size() - 4) % 64, 0u);
  }
  EXPECT_THAT(zip, HasSubstr("{'descr': '<f4', 'fortran_order': False, "
                             "'shape': (7, 4), }"));
  EXPECT_THAT(zip, HasSubstr("'descr': '<f8', 'fortran_order': False, "
                             "'shape': (), }"));
  EXPECT_THAT(zip, HasSubstr("'descr': '|b1', 'fortran_order': False, "
                             "'shape': (5,), }"));
}

}  // namespace
}  // namespace capstan
