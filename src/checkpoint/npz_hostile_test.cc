// Archives that were crafted, or damaged, to harm their reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "checkpoint/tensor_file/npz_files_test.h"
#include "checkpoint/tensor_file/zip_reader.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Member;
using testing::MemoryFile;
using testing::NpyOf;
using testing::PutNumber;
using testing::RawEnd;
using testing::RawMember;
using testing::ReadWhole;
using testing::StatusIs;
using testing::ZipOf;

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;

Tensor Numbers() {
  Tensor tensor = Tensor::Zeros(DType::kI32, {50, 4});
  int32_t next = 0;
  for (int32_t& value : tensor.MutableValues<int32_t>()) value = next++ / 3;
  return tensor;
}

// The status of opening the archive and reading all of it.
absl::Status Try(std::string_view content) {
  const MemoryFile memory(content);
  const auto file = memory.OpenAs(TensorFormat::kNpz);
  absl::Status status = file.status();
  if (file.ok()) {
    for (const FileTensor& tensor : (*file)->tensors()) {
      status.Update(ReadWhole(**file, tensor.name).status());
    }
  }
  EXPECT_TRUE(status.ok() ||
              status.message().find("\"in\"") != std::string::npos)
      << status;
  return status;
}

using ChangeMember = std::function<void(RawMember&)>;

// An archive in which the first of two members is changed.
std::string Changed(const ChangeMember& change, bool deflated = true) {
  RawMember member = Member("a.npy", NpyOf(Numbers()), deflated);
  change(member);
  return ZipOf({member, Member("b.npy", NpyOf(Numbers()), deflated)});
}

TEST(NpzHostileTest, EveryTruncationIsFound) {
  const std::string whole = Changed([](RawMember&) {});
  ASSERT_OK(Try(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(Try(whole.substr(0, size)), StatusIs(kDataLoss)) << size;
  }
}

// A changed byte that goes unnoticed must not change any value.
TEST(NpzHostileTest, NoChangedByteGivesAnotherValue) {
  for (const bool deflated : {false, true}) {
    const std::string whole = Changed([](RawMember&) {}, deflated);
    for (size_t at = 0; at < whole.size(); ++at) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string other = whole;
        other[at] = static_cast<char>(other[at] ^ change);
        const MemoryFile memory(other);
        const auto file = memory.OpenAs(TensorFormat::kNpz);
        if (!file.ok()) continue;
        for (const FileTensor& tensor : (*file)->tensors()) {
          const absl::StatusOr<Tensor> read = ReadWhole(**file, tensor.name);
          EXPECT_TRUE(!read.ok() || *read == Numbers()) << at;
        }
      }
    }
  }
}

TEST(NpzHostileTest, MembersThatAreNotWhatTheDirectorySays) {
  const auto is = [](const ChangeMember& change, absl::StatusCode code,
                     const std::string& why, bool deflated = true) {
    EXPECT_THAT(Try(Changed(change, deflated)), StatusIs(code, HasSubstr(why)));
  };
  is([](RawMember& m) { m.flags = 1; }, kInvalidArgument,
     "member \"a.npy\": it is encrypted");
  is([](RawMember& m) { m.method = 12; }, kInvalidArgument,
     "by method 12: save it by numpy.savez");
  is([](RawMember& m) { m.disk = 1; }, kInvalidArgument, "another file");
  is([](RawMember& m) { m.crc32 ^= 1; }, kDataLoss,
     "tensor \"a\": its checksum is");
  is([](RawMember& m) { m.crc32 ^= 1; }, kDataLoss, "its checksum is", false);
  is([](RawMember& m) { --m.bytes; }, kDataLoss, "are not those of i32[50, 4]");
  is([](RawMember& m) { m.bytes += 1 << 30; }, kDataLoss, "cannot be");
  is([](RawMember& m) { ++m.bytes; }, kDataLoss, "cannot be", false);
  is([](RawMember& m) { --m.stored_bytes; }, kDataLoss, "cut short");
  is([](RawMember& m) { m.local_name = "c.npy"; }, kDataLoss, "is not it");
  is([](RawMember& m) { ++m.offset_change; }, kDataLoss, "is not it");
  is([](RawMember& m) { m.offset_change = 1u << 31; }, kDataLoss,
     "not inside of the file");
  is([](RawMember& m) { m.name = m.local_name = "b.npy"; }, kDataLoss,
     "member \"b.npy\": it is there twice");
  is([](RawMember& m) { m.stored_bytes = m.bytes = 0xffffffff; }, kDataLoss,
     "its sizes are missing");
  is(
      [](RawMember& m) {
        m.name = "\x1b[2J.npy";
        m.crc32 ^= 1;
      },
      kDataLoss, "tensor \"\\033[2J\"");
}

TEST(NpzHostileTest, LargeNumbersMayNotWrap) {
  const auto with_extra = [](uint64_t bytes, uint64_t stored, uint64_t offset) {
    RawMember member = Member("a.npy", NpyOf(Numbers()));
    member.bytes = member.stored_bytes = 0xffffffff;
    member.offset_change = 0xffffffff;
    PutNumber(member.extra, uint16_t{7});
    PutNumber(member.extra, uint16_t{0});
    PutNumber(member.extra, uint16_t{1});
    PutNumber(member.extra, uint16_t{24});
    PutNumber(member.extra, bytes);
    PutNumber(member.extra, stored);
    PutNumber(member.extra, offset);
    return ZipOf({member});
  };
  const uint64_t size = NpyOf(Numbers()).size();
  EXPECT_OK(Try(with_extra(size, size, 0)));
  for (const uint64_t large :
       {uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 34, UINT64_MAX - 36}) {
    EXPECT_THAT(Try(with_extra(size, size, large)), StatusIs(kDataLoss));
    EXPECT_THAT(Try(with_extra(large, large, 0)), StatusIs(kDataLoss));
    EXPECT_THAT(Try(with_extra(large, size, 0)), StatusIs(kDataLoss));
  }
}

TEST(NpzHostileTest, MembersMayNotOverlap) {
  RawMember first = Member("a.npy", NpyOf(Numbers()));
  // The second member lies inside the first.
  const std::string inner = ZipOf({Member("b.npy", NpyOf(Numbers()))});
  first.data += inner;
  first.stored_bytes = static_cast<uint32_t>(first.data.size());
  first.bytes = first.stored_bytes;
  RawMember second = Member("b.npy", NpyOf(Numbers()));
  const auto first_size =
      static_cast<uint32_t>(30 + first.name.size() + first.data.size());
  second.offset_change =
      static_cast<uint32_t>(0) - first_size +
      static_cast<uint32_t>(30 + first.name.size() + NpyOf(Numbers()).size());
  EXPECT_THAT(Try(ZipOf({first, second})),
              StatusIs(kDataLoss,
                       HasSubstr("member \"b.npy\": it begins inside of member "
                                 "\"a.npy\"")));
}

// The header claims less, or more, than the data inflates to.
TEST(NpzHostileTest, BombsAreNotInflated) {
  const std::string header = EncodeNpyHeader(DType::kU8, {int64_t{1} << 20});
  const std::string large(64 << 20, '\0');
  RawMember member = Member("a.npy", header + large, true);
  EXPECT_THAT(Try(ZipOf({member})),
              StatusIs(kDataLoss, HasSubstr("are not those of u8[1048576]")));
  member.bytes = static_cast<uint32_t>(header.size()) + (1 << 20);
  EXPECT_THAT(Try(ZipOf({member})),
              StatusIs(kDataLoss, HasSubstr("it is longer than")));
  member = Member("a.npy", header + large.substr(0, 100), true);
  member.bytes = static_cast<uint32_t>(header.size()) + (1 << 20);
  EXPECT_THAT(Try(ZipOf({member})), StatusIs(kDataLoss, HasSubstr("cannot")));
  // A header's claim does not cause an allocation.
  EXPECT_THAT(Try(ZipOf({Member(
                  "a.npy", EncodeNpyHeader(DType::kF64, {int64_t{1} << 59}))})),
              StatusIs(kDataLoss, HasSubstr("are not those of f64")));
}

TEST(NpzHostileTest, BytesBehindWhatIsDeflated) {
  RawMember member = Member("a.npy", NpyOf(Numbers()), true);
  member.data += "more";
  member.stored_bytes += 4;
  EXPECT_THAT(Try(ZipOf({member})),
              StatusIs(kDataLoss, HasSubstr("it is longer than")));
}

// As written by streaming writers: the sizes follow the data.
TEST(NpzHostileTest, DataDescriptorsAreNotNeeded) {
  RawMember member = Member("a.npy", NpyOf(Numbers()), true);
  member.flags = 1 << 3;
  member.descriptor = "PK\7\x8" + std::string(12, '\1');
  EXPECT_OK(Try(ZipOf({member, Member("b.npy", NpyOf(Numbers()))})));
}

TEST(NpzHostileTest, FoldersArePassedOver) {
  EXPECT_OK(
      Try(ZipOf({Member("d/", ""), Member("d/a.npy", NpyOf(Numbers()))})));
}

TEST(NpzHostileTest, EndsThatAreNot) {
  const std::vector<RawMember> one = {Member("a.npy", NpyOf(Numbers()))};
  const auto is = [&](const RawEnd& end, absl::StatusCode code,
                      const std::string& why) {
    EXPECT_THAT(Try(ZipOf(one, end)), StatusIs(code, HasSubstr(why)));
  };
  EXPECT_OK(Try(ZipOf(one, {.comment = "a comment, with PK\5\6 in it"})));
  EXPECT_OK(Try(ZipOf(one, {.comment = std::string(65'535, 'c')})));
  is({.disk = 1}, kInvalidArgument, "several files");
  is({.count_change = 1}, kDataLoss, "2 members in a directory of 51 bytes");
  is({.count_change = -1}, kDataLoss, "a remainder");
  is({.bytes_change = 1}, kDataLoss, "not where it should be");
  is({.begin_change = 0xffffffff}, kDataLoss, "not where it should be");
  is({.before = "x"}, kDataLoss, "not where it should be");
  is({.before = "PK\6\7" + std::string(16, '\xff')}, kDataLoss, "zip64");
  is({.before = "PK\6\7" + std::string(16, '\0')}, kDataLoss, "zip64");
  // Room for three entries, and names that only look like a third.
  EXPECT_THAT(
      Try(ZipOf({Member(std::string(60, 'a') + ".npy", NpyOf(Numbers())),
                 Member("b.npy", NpyOf(Numbers()))},
                {.count_change = 1})),
      StatusIs(kDataLoss, HasSubstr("malformed")));
  EXPECT_THAT(Try(std::string(100, 'P')),
              StatusIs(kDataLoss, HasSubstr("no directory at its end")));
}

TEST(NpzHostileTest, TheDirectoryOfAZip64MayNotWrap) {
  std::string record = "PK\6\6";
  PutNumber(record, uint64_t{44});
  PutNumber(record, uint32_t{0});
  PutNumber(record, uint64_t{0});
  PutNumber(record, uint64_t{1});
  PutNumber(record, uint64_t{1});
  PutNumber(record, uint64_t{1} << 40);
  PutNumber(record, uint64_t{0} - (uint64_t{1} << 40));
  record += "PK\6\7";
  PutNumber(record, uint32_t{0});
  PutNumber(record, uint64_t{0});
  PutNumber(record, uint32_t{1});
  EXPECT_THAT(Try(record + ZipOf({})),
              StatusIs(kDataLoss, HasSubstr("not where it should be")));
}

TEST(NpzHostileTest, ArraysThatCannotBeRead) {
  const auto is = [](std::string npy, const std::string& why) {
    EXPECT_THAT(
        Try(ZipOf({Member("w.npy", npy)})),
        StatusIs(kDataLoss, AllOf(HasSubstr("tensor \"w\""), HasSubstr(why))));
  };
  is("", "not an .npy file");
  is("\x93NUMPY", "not an .npy file");
  std::string npy = NpyOf(Numbers());
  npy.replace(npy.find("False"), 5, "Wahr ");
  is(npy, "malformed");
  npy = NpyOf(Numbers());
  npy.replace(npy.find("<i4"), 3, "|O'");
  EXPECT_THAT(
      Try(ZipOf({Member("w.npy", npy)})),
      StatusIs(kInvalidArgument, HasSubstr("\"w\": elements of type '|O' "
                                           "are not supported")));
}

}  // namespace
}  // namespace capstan
