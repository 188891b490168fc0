#include "checkpoint/shard_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file/posix_file_system.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "rapidcheck/gtest.h"
#include "simulation/sim_file_system.h"
#include "tensor/dtype.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOk;
using ::capstan::testing::StatusIs;
using ::capstan::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;
constexpr uint64_t kSaveId = 0x0123456789abcdef;
constexpr std::string_view kPath = "d/f.safetensors";

const std::vector<FileTensor>& Tensors() {
  static const std::vector<FileTensor> tensors = {
      {"a", DType::kF64, Shape({2})},
      {"b", DType::kF32, Shape({0})},
      {"a0", DType::kF32, Shape({0, 7})},  // where "b" and "c" begin
      {"c", DType::kF32, Shape({3, 2})},
      {"d", DType::kU8, Shape({5})}};
  return tensors;
}
constexpr std::string_view kData =
    "0123456789abcdefABCDEFGHIJKLMNOPQRSTUVWXuvwxy";

std::unique_ptr<SimFileSystem> WithDirectory() {
  auto files = std::make_unique<SimFileSystem>();
  EXPECT_OK(files->CreateDir("d"));
  return files;
}

absl::StatusOr<SavedFile> Write(FileSystem& files, std::string_view path,
                                std::string_view data) {
  const auto writer =
      ShardFileWriter::Create(files, path, kSaveId, Tensors(), {{"k", "v"}});
  if (!writer.ok()) return writer.status();
  const absl::Status status = (*writer)->Append(AsBytes(data));
  if (!status.ok()) return status;
  return (*writer)->Finish();
}

absl::StatusOr<std::string> ReadTensor(const ShardFileReader& reader,
                                       std::string_view tensor) {
  std::string text;
  const absl::Status status =
      reader.Read(tensor, [&](uint64_t offset, Bytes piece) {
        EXPECT_EQ(offset, text.size());
        text += AsText(piece);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return text;
}

void ExpectRoundTrip(FileSystem& files) {
  const auto saved = Write(files, kPath, kData);
  ASSERT_OK(saved);
  EXPECT_EQ(saved->name, "f.safetensors");
  ASSERT_EQ(saved->tensors.size(), 5u);
  const auto reader = ShardFileReader::Open(files, kPath, *saved, kSaveId);
  ASSERT_OK(reader);
  EXPECT_OK((*reader)->Verify());
  EXPECT_EQ(ReadTensor(**reader, "a").value(), kData.substr(0, 16));
  EXPECT_EQ(ReadTensor(**reader, "b").value(), "");
  EXPECT_EQ(ReadTensor(**reader, "c").value(), kData.substr(16, 24));
  EXPECT_EQ(ReadTensor(**reader, "d").value(), kData.substr(40));
  ASSERT_NE((*reader)->Find("c"), nullptr);
  EXPECT_EQ((*reader)->Find("c")->shape, Shape({3, 2}));
  EXPECT_EQ((*reader)->Find("x"), nullptr);
  EXPECT_THAT(ReadTensor(**reader, "x"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"x\"")));
  // Other programs can read the file.
  const auto other = ReadSafetensors(files, kPath);
  ASSERT_OK(other);
  EXPECT_EQ(other->metadata.at("save_id"), "0123456789abcdef");
  EXPECT_EQ(other->metadata.at("k"), "v");
}

TEST(ShardFileTest, RoundTripSimulated) { ExpectRoundTrip(*WithDirectory()); }

TEST(ShardFileTest, RoundTripOnDisk) {
  const TempDir dir;
  const auto files = PosixFileSystem::Open(dir.path());
  ASSERT_OK(files);
  ASSERT_OK((*files)->CreateDir("d"));
  ExpectRoundTrip(**files);
}

// Larger than one piece of the reader.
TEST(ShardFileTest, Large) {
  SimFileSystem files;
  const std::vector<FileTensor> tensors = {
      {"w", DType::kF32, Shape({3'000'001})}};
  std::string data(12'000'004, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 7);
  const auto writer = ShardFileWriter::Create(files, "f", kSaveId, tensors);
  ASSERT_OK(writer);
  ASSERT_OK((*writer)->Append(AsBytes(data)));
  const auto saved = (*writer)->Finish();
  ASSERT_OK(saved);
  const auto reader = ShardFileReader::Open(files, "f", *saved, kSaveId);
  ASSERT_OK(reader);
  EXPECT_OK((*reader)->Verify());
  EXPECT_EQ(ReadTensor(**reader, "w").value(), data);
}

RC_GTEST_PROP(ShardFileTest, AnyPieces, ()) {
  SimFileSystem files;
  const auto whole = Write(files, "whole", kData);
  const auto writer = ShardFileWriter::Create(files, "pieces", kSaveId,
                                              Tensors(), {{"k", "v"}});
  RC_ASSERT(writer.ok());
  std::string_view rest = kData;
  while (!rest.empty()) {
    // Never 0, which could be drawn forever.
    const auto size = *rc::gen::inRange<size_t>(1, rest.size() + 1);
    RC_ASSERT((*writer)->Append(AsBytes(rest.substr(0, size))).ok());
    rest.remove_prefix(size);
  }
  auto pieces = (*writer)->Finish();
  RC_ASSERT(pieces.ok());
  pieces->name = whole->name;
  RC_ASSERT(*pieces == *whole);
  RC_ASSERT(ReadFile(files, "pieces", 1 << 20).value() ==
            ReadFile(files, "whole", 1 << 20).value());
}

TEST(ShardFileTest, SortsForFile) {
  std::vector<FileTensor> tensors = {{"d", DType::kU8, Shape({5})},
                                     {"b", DType::kF32, Shape({0})},
                                     {"c", DType::kI32, Shape({3})},
                                     {"a", DType::kF64, Shape({2})}};
  SortForFile(tensors);
  std::string names;
  for (const FileTensor& tensor : tensors) names += tensor.name;
  EXPECT_EQ(names, "abcd");
}

TEST(ShardFileTest, CreateRefuses) {
  const auto files = WithDirectory();
  const auto create = [&](std::vector<FileTensor> tensors,
                          std::map<std::string, std::string> metadata = {}) {
    return ShardFileWriter::Create(*files, kPath, kSaveId, tensors, metadata)
        .status();
  };
  const Shape one({1});
  EXPECT_THAT(create({{"", DType::kF32, one}}),
              StatusIs(kInvalidArgument, HasSubstr("needs a name")));
  EXPECT_THAT(create({{"__metadata__", DType::kF32, one}}),
              StatusIs(kInvalidArgument, HasSubstr("reserved")));
  EXPECT_THAT(
      create({{"a", DType::kF32, one}, {"a", DType::kF32, one}}),
      StatusIs(kInvalidArgument, HasSubstr("\"a\": it is there twice")));
  EXPECT_THAT(create({{"a\xff", DType::kF32, one}}),
              StatusIs(kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_THAT(create({{"a", DType::kU8, one}, {"b", DType::kF32, one}}),
              StatusIs(kInvalidArgument, HasSubstr("SortForFile")));
  EXPECT_THAT(create({}, {{"save_id", "1"}}),
              StatusIs(kInvalidArgument, AllOf(HasSubstr("d/f.safetensors"),
                                               HasSubstr("save_id already"))));
  const Shape huge({Shape::kMaxElements});
  EXPECT_THAT(create({{"a", DType::kF64, huge},
                      {"b", DType::kF64, huge},
                      {"c", DType::kF64, huge}}),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_FALSE(files->Exists(kPath).value());
  ASSERT_OK(Write(*files, kPath, kData));
  EXPECT_THAT(create({}), StatusIs(absl::StatusCode::kAlreadyExists));
}

TEST(ShardFileTest, TooManyAndTooFewBytes) {
  const auto files = WithDirectory();
  const auto writer =
      ShardFileWriter::Create(*files, kPath, kSaveId, Tensors());
  ASSERT_OK(writer);
  EXPECT_OK((*writer)->Append(AsBytes(kData.substr(0, 43))));
  EXPECT_THAT((*writer)->Append(AsBytes("123")),
              StatusIs(kInvalidArgument, AllOf(HasSubstr("d/f.safetensors"),
                                               HasSubstr("1 bytes more"))));
  EXPECT_THAT((*writer)->Finish(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("2 bytes of the tensors are missing")));
  EXPECT_OK((*writer)->Append(AsBytes(kData.substr(43))));
  EXPECT_OK((*writer)->Finish());
}

class ShardFileDamageTest : public ::testing::Test {
 protected:
  ShardFileDamageTest() {
    saved_ = *Write(*files_, kPath, kData);
    content_ = *ReadFile(*files_, kPath, 1 << 20);
  }

  // Opens and verifies a file with other content.
  absl::Status Check(const std::string& content) {
    EXPECT_OK(ReplaceFile(*files_, kPath, AsBytes(content)));
    const auto reader = ShardFileReader::Open(*files_, kPath, saved_, kSaveId);
    return reader.ok() ? (*reader)->Verify() : reader.status();
  }
  absl::Status Expecting(const SavedFile& expected) {
    return ShardFileReader::Open(*files_, kPath, expected, kSaveId).status();
  }
  std::string Edited(const std::string& from, const std::string& to) {
    std::string content = content_;
    const size_t at = content.find(from);
    EXPECT_NE(at, content.npos);
    return content.replace(at, from.size(), to);
  }

  std::unique_ptr<SimFileSystem> files_ = WithDirectory();
  SavedFile saved_;
  std::string content_;
};

TEST_F(ShardFileDamageTest, Missing) {
  ASSERT_OK(files_->Remove(kPath));
  EXPECT_THAT(Expecting(saved_),
              StatusIs(kDataLoss, HasSubstr("\"d/f.safetensors\": the file is "
                                            "missing")));
}

TEST_F(ShardFileDamageTest, OtherSize) {
  EXPECT_THAT(Check(content_ + "x"),
              StatusIs(kDataLoss, HasSubstr("as the manifest says")));
  EXPECT_THAT(Check(""), StatusIs(kDataLoss, HasSubstr("it has 0 bytes")));
}

TEST_F(ShardFileDamageTest, EachBadTensorIsNamed) {
  std::string content = content_;
  content[content.size() - 1] ^= 1;             // of d
  content[content.size() - kData.size()] ^= 1;  // of a
  EXPECT_THAT(
      Check(content),
      StatusIs(kDataLoss, AllOf(HasSubstr("d/f.safetensors"),
                                HasSubstr("tensor \"a\": its checksum is"),
                                HasSubstr("tensor \"d\": its checksum is"),
                                Not(HasSubstr("tensor \"c\"")))));
  const auto reader = ShardFileReader::Open(*files_, kPath, saved_, kSaveId);
  ASSERT_OK(reader);
  EXPECT_THAT(ReadTensor(**reader, "d"),
              StatusIs(kDataLoss, HasSubstr("tensor \"d\"")));
  EXPECT_OK(ReadTensor(**reader, "c"));
}

TEST_F(ShardFileDamageTest, HeaderThatSaysOtherThings) {
  EXPECT_THAT(Check(Edited("\"k\":\"v\"", "\"k\":\"w\"")),
              StatusIs(kDataLoss, HasSubstr("the header is damaged")));
  EXPECT_THAT(Check(Edited("\"F64\"", "\"I64\"")),
              StatusIs(kDataLoss, HasSubstr("the header is damaged")));
  EXPECT_THAT(Check(Edited("[3,2]", "[2,3]")),
              StatusIs(kDataLoss, HasSubstr("the header is damaged")));
  EXPECT_THAT(Check(Edited("\"F64\"", "\"F65\"")),
              StatusIs(kDataLoss, HasSubstr("\"F65\"")));
  EXPECT_THAT(Check(Edited("\"c\"", "\"e\"")),
              StatusIs(kDataLoss, HasSubstr("tensor \"c\": the manifest has it,"
                                            " but the file not")));
  EXPECT_THAT(Check(Edited("cdef", "cdee")),
              StatusIs(kDataLoss, HasSubstr("of another checkpoint")));
  EXPECT_THAT(Check(Edited("\"save_id\"", "\"save_ie\"")),
              StatusIs(kDataLoss, HasSubstr("its save id is missing")));
  EXPECT_THAT(Check(std::string(content_.size(), '\xff')),
              StatusIs(kDataLoss, HasSubstr("a header of")));
}

TEST_F(ShardFileDamageTest, HeaderThatChangesAfterOpen) {
  const auto reader = ShardFileReader::Open(*files_, kPath, saved_, kSaveId);
  ASSERT_OK(reader);
  EXPECT_OK((*reader)->Verify());
  // In place, not replaced, because the reader has the old file open.
  auto file = files_->CreateForWrite(kPath, IfExists::kTruncate);
  ASSERT_OK(file);
  ASSERT_OK((*file)->Append(AsBytes(Edited("\"k\":\"v\"", "\"k\":\"w\""))));
  EXPECT_THAT((*reader)->Verify(),
              StatusIs(kDataLoss, HasSubstr("the header is damaged")));
  file = files_->CreateForWrite(kPath, IfExists::kTruncate);
  EXPECT_THAT((*reader)->Verify(),
              StatusIs(kDataLoss, HasSubstr("became shorter")));
}

TEST_F(ShardFileDamageTest, ManifestThatSaysOtherThings) {
  SavedFile other = saved_;
  other.tensors.pop_back();
  EXPECT_THAT(Expecting(other),
              StatusIs(kDataLoss, HasSubstr("tensor \"d\": the file has it, but"
                                            " the manifest not")));
  other = saved_;
  std::swap(other.tensors[0], other.tensors[3]);
  EXPECT_THAT(Expecting(other),
              StatusIs(kDataLoss, HasSubstr("not where the manifest has it")));
  other = saved_;
  other.tensors[0].crc32c ^= 1;
  EXPECT_THAT(Expecting(other), StatusIs(kDataLoss));
  other = saved_;
  other.crc32c ^= 1;
  EXPECT_THAT(Expecting(other), StatusIs(kDataLoss));
}

TEST_F(ShardFileDamageTest, TakeMayFail) {
  const auto reader = ShardFileReader::Open(*files_, kPath, saved_, kSaveId);
  ASSERT_OK(reader);
  EXPECT_THAT(
      (*reader)->Read(
          "a", [](uint64_t, Bytes) { return absl::CancelledError("enough"); }),
      StatusIs(absl::StatusCode::kCancelled, HasSubstr("enough")));
}

}  // namespace
}  // namespace capstan
