#include "checkpoint/tensor_file/zip_writer.h"

#include <algorithm>
#include <concepts>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "checkpoint/tensor_file/zip_format.h"

namespace capstan {
namespace {

constexpr uint16_t kVersion = 20;
constexpr uint16_t kVersion64 = 45;
constexpr uint16_t kNamesAreUtf8 = 1 << 11;
// The earliest date possible: archives of the same values are identical.
constexpr uint16_t kDate = 1 << 5 | 1;

template <std::unsigned_integral T>
void Put(std::string& text, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

uint32_t Cut32(uint64_t value) {
  return static_cast<uint32_t>(std::min(value, kZipLimit32));
}
uint16_t Cut16(uint64_t value) {
  return static_cast<uint16_t>(std::min(value, kZipLimit16));
}

// The fields that both headers of a member share, from the version on.
void PutMember(std::string& text, uint16_t version, std::string_view name,
               uint64_t bytes, uint32_t crc32, size_t extra) {
  Put(text, version);
  Put(text, kNamesAreUtf8);
  Put(text, kZipStored);
  Put(text, uint16_t{0});  // time: midnight
  Put(text, kDate);
  Put(text, crc32);
  Put(text, Cut32(bytes));
  Put(text, Cut32(bytes));
  Put(text, static_cast<uint16_t>(name.size()));
  Put(text, static_cast<uint16_t>(extra));
}

std::string Extra(const std::vector<uint64_t>& numbers) {
  std::string text;
  if (numbers.empty()) return text;
  Put(text, kZipExtra64);
  Put(text, static_cast<uint16_t>(numbers.size() * sizeof(uint64_t)));
  for (const uint64_t number : numbers) Put(text, number);
  return text;
}

}  // namespace

absl::Status ZipWriter::Begin(std::string_view name, uint64_t bytes,
                              uint32_t crc32) {
  CAPSTAN_RETURN_IF_ERROR(CheckComplete());
  if (name.size() > kZipLimit16) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a name of ", name.size(), " bytes is too long for a zip archive"));
  }
  members_.push_back({std::string(name), bytes, crc32, written_});
  missing_ = bytes;
  const bool large = bytes >= kZipLimit32;
  const std::string extra = large ? Extra({bytes, bytes}) : "";
  std::string text;
  Put(text, kZipLocalHeader);
  PutMember(text, large ? kVersion64 : kVersion, name, bytes, crc32,
            extra.size());
  text += name;
  return Write(text + extra);
}

absl::Status ZipWriter::Append(Bytes data) {
  if (data.size() > missing_) {
    return absl::InvalidArgumentError(
        absl::StrCat(data.size() - missing_, " bytes more than announced"));
  }
  missing_ -= data.size();
  written_ += data.size();
  return file_.Append(data);
}

absl::Status ZipWriter::Finish() {
  CAPSTAN_RETURN_IF_ERROR(CheckComplete());
  const uint64_t begin = written_;
  for (const Member& member : members_) {
    std::vector<uint64_t> large;
    if (member.bytes >= kZipLimit32) large = {member.bytes, member.bytes};
    if (member.offset >= kZipLimit32) large.push_back(member.offset);
    const std::string extra = Extra(large);
    const uint16_t version = large.empty() ? kVersion : kVersion64;
    std::string text;
    Put(text, kZipDirectoryEntry);
    Put(text, version);
    PutMember(text, version, member.name, member.bytes, member.crc32,
              extra.size());
    Put(text, uint16_t{0});  // no comment
    Put(text, uint16_t{0});  // disk 0
    Put(text, uint16_t{0});  // internal attributes
    Put(text, uint32_t{0});  // external attributes
    Put(text, Cut32(member.offset));
    text.append(member.name).append(extra);
    CAPSTAN_RETURN_IF_ERROR(Write(text));
  }
  const uint64_t size = written_ - begin;
  const uint64_t count = members_.size();
  std::string text;
  if (count >= kZipLimit16 || size >= kZipLimit32 || begin >= kZipLimit32) {
    Put(text, kZipEnd64);
    Put(text, uint64_t{kZipEnd64Bytes - 12});  // bytes after this field
    Put(text, kVersion64);
    Put(text, kVersion64);
    Put(text, uint32_t{0});
    Put(text, uint32_t{0});
    Put(text, count);
    Put(text, count);
    Put(text, size);
    Put(text, begin);
    Put(text, kZipLocator64);
    Put(text, uint32_t{0});
    Put(text, written_);
    Put(text, uint32_t{1});
  }
  Put(text, kZipEnd);
  Put(text, uint16_t{0});
  Put(text, uint16_t{0});
  Put(text, Cut16(count));
  Put(text, Cut16(count));
  Put(text, Cut32(size));
  Put(text, Cut32(begin));
  Put(text, uint16_t{0});  // no comment
  return Write(text);
}

absl::Status ZipWriter::Write(std::string_view text) {
  written_ += text.size();
  return file_.Append(AsBytes(text));
}

absl::Status ZipWriter::CheckComplete() const {
  if (missing_ == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      missing_, " bytes of \"", members_.back().name, "\" are missing"));
}

}  // namespace capstan
