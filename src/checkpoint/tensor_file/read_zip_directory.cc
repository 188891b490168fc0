#include <algorithm>
#include <concepts>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "checkpoint/tensor_file/shown_text.h"
#include "checkpoint/tensor_file/zip_format.h"
#include "checkpoint/tensor_file/zip_reader.h"

namespace capstan {
namespace {

// Flag bits that mean that the data is not plain stored or deflated data:
// encrypted, patched, strongly encrypted, directory masked.
constexpr uint16_t kHidden = 1 << 0 | 1 << 5 | 1 << 6 | 1 << 13;
// Deflate's maximum expansion: output bytes per input byte.
constexpr uint64_t kMostInflated = 1032;

absl::Status Damaged(absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat(why, ": not a zip archive, or damaged"));
}

absl::Status InMember(const absl::Status& status, const std::string& name) {
  return WithContext(status, absl::StrCat("member ", Shown(name)));
}

// Reads the little-endian number at `at`, which must be within `text`.
template <std::unsigned_integral T>
T Get(std::string_view text, size_t at) {
  T value = 0;
  for (size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(uint64_t{value} << 8 |
                           static_cast<uint8_t>(text[at + i]));
  }
  return value;
}

absl::StatusOr<std::string> ReadText(const ReadableFile& file, uint64_t offset,
                                     uint64_t size) {
  std::string text(static_cast<size_t>(size), '\0');
  const absl::StatusOr<size_t> got =
      file.ReadAt(offset, std::as_writable_bytes(std::span(text)));
  CAPSTAN_RETURN_IF_ERROR(got.status());
  if (*got == text.size()) return text;
  return absl::DataLossError("the file became shorter while it was read");
}

// Where the directory is.
struct EntryPlace {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint64_t count = 0;  // of the members
  uint64_t end = 0;    // where the directory must end
};

// Reads the zip64 record, if there is one: a locator before `end` says where.
absl::StatusOr<std::optional<EntryPlace>> ReadEnd64(const ReadableFile& file,
                                                    uint64_t end) {
  if (end < kZipLocator64Bytes) return std::nullopt;
  const uint64_t locator_at = end - kZipLocator64Bytes;
  const absl::StatusOr<std::string> locator =
      ReadText(file, locator_at, kZipLocator64Bytes);
  CAPSTAN_RETURN_IF_ERROR(locator.status());
  if (Get<uint32_t>(*locator, 0) != kZipLocator64) return std::nullopt;
  const absl::Status damaged = Damaged("its zip64 record is missing or wrong");
  const auto at = Get<uint64_t>(*locator, 8);
  if (CheckedSub(locator_at, at).value_or(0) < kZipEnd64Bytes) return damaged;
  const absl::StatusOr<std::string> text = ReadText(file, at, kZipEnd64Bytes);
  CAPSTAN_RETURN_IF_ERROR(text.status());
  constexpr uint64_t kBeforeSize = 12;
  const bool is_one_disk = Get<uint32_t>(*text, 16) == 0 &&
                           Get<uint32_t>(*text, 20) == 0 &&
                           Get<uint64_t>(*text, 24) == Get<uint64_t>(*text, 32);
  if (Get<uint32_t>(*text, 0) != kZipEnd64 || !is_one_disk ||
      Get<uint64_t>(*text, 4) != locator_at - at - kBeforeSize) {
    return damaged;
  }
  return EntryPlace{.begin = Get<uint64_t>(*text, 48),
                    .bytes = Get<uint64_t>(*text, 40),
                    .count = Get<uint64_t>(*text, 32),
                    .end = at};
}

absl::StatusOr<EntryPlace> FindDirectory(const ReadableFile& file) {
  const absl::StatusOr<uint64_t> size = file.Size();
  CAPSTAN_RETURN_IF_ERROR(size.status());
  if (*size < kZipEndBytes) {
    return Damaged(absl::StrCat("it has ", *size, " bytes"));
  }
  // A comment may follow the record.
  const uint64_t tail_bytes = std::min(*size, kZipEndBytes + kZipLimit16);
  const absl::StatusOr<std::string> tail =
      ReadText(file, *size - tail_bytes, tail_bytes);
  CAPSTAN_RETURN_IF_ERROR(tail.status());
  size_t at = tail->size() - kZipEndBytes;
  const auto is_end = [&] {
    return Get<uint32_t>(*tail, at) == kZipEnd &&
           Get<uint16_t>(*tail, at + 20) == tail->size() - at - kZipEndBytes;
  };
  while (at > 0 && !is_end()) --at;
  if (!is_end()) return Damaged("it has no directory at its end");
  const uint64_t end = *size - tail_bytes + at;
  const absl::StatusOr<std::optional<EntryPlace>> large = ReadEnd64(file, end);
  CAPSTAN_RETURN_IF_ERROR(large.status());
  if (*large) return **large;
  const auto count = Get<uint16_t>(*tail, at + 10);
  if (Get<uint16_t>(*tail, at + 4) != 0 || Get<uint16_t>(*tail, at + 6) != 0 ||
      Get<uint16_t>(*tail, at + 8) != count) {
    return absl::InvalidArgumentError("an archive of several files");
  }
  return EntryPlace{.begin = Get<uint32_t>(*tail, at + 16),
                    .bytes = Get<uint32_t>(*tail, at + 12),
                    .count = count,
                    .end = end};
}

absl::StatusOr<std::string> ReadDirectory(const ReadableFile& file,
                                          const EntryPlace& place) {
  if (CheckedAdd(place.begin, place.bytes) != place.end) {
    return Damaged("its directory is not where it should be");
  }
  if (place.bytes > kMaxZipDirectory) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a directory of ", place.bytes,
                     " bytes, more than the limit of ", kMaxZipDirectory));
  }
  if (place.count > place.bytes / kZipDirectoryEntryBytes) {
    return Damaged(absl::StrCat(place.count, " members in a directory of ",
                                place.bytes, " bytes"));
  }
  return ReadText(file, place.begin, place.bytes);
}

// An entry of the directory.
struct Entry {
  ZipMember member;
  uint16_t method = 0;
  uint64_t header = 0;  // where the local header begins
};

// Replaces the numbers that did not fit with those of the extra fields.
absl::Status ReadExtra64(std::string_view extra,
                         const std::vector<uint64_t*>& numbers) {
  if (numbers.empty()) return absl::OkStatus();
  constexpr size_t kHead = 4;
  while (extra.size() >= kHead) {
    const auto id = Get<uint16_t>(extra, 0);
    const size_t size = Get<uint16_t>(extra, 2);
    extra.remove_prefix(kHead);
    if (size > extra.size()) break;
    if (id == kZipExtra64) {
      if (size < numbers.size() * sizeof(uint64_t)) break;
      for (size_t i = 0; i < numbers.size(); ++i) {
        *numbers[i] = Get<uint64_t>(extra, i * sizeof(uint64_t));
      }
      return absl::OkStatus();
    }
    extra.remove_prefix(size);
  }
  return absl::DataLossError("its sizes are missing");
}

absl::Status CheckEntry(const Entry& entry, uint16_t flags, uint16_t disk) {
  if ((flags & kHidden) != 0) {
    return absl::InvalidArgumentError("it is encrypted");
  }
  if (entry.method != kZipStored && entry.method != kZipDeflated) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is compressed by method ", entry.method,
                     ": save it by numpy.savez or numpy.savez_compressed"));
  }
  if (disk != 0) return absl::InvalidArgumentError("it is in another file");
  const ZipMember& member = entry.member;
  const uint64_t most =
      CheckedMul(member.stored_bytes, kMostInflated).value_or(UINT64_MAX);
  if (member.deflated ? member.bytes <= most
                      : member.bytes == member.stored_bytes) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat(member.stored_bytes, " bytes of the file cannot be ",
                   member.bytes, ", as the directory says"));
}

// Takes the next entry off `directory`.
absl::StatusOr<Entry> ParseEntry(std::string_view& directory) {
  const absl::Status damaged = Damaged("its directory is malformed");
  if (directory.size() < kZipDirectoryEntryBytes ||
      Get<uint32_t>(directory, 0) != kZipDirectoryEntry) {
    return damaged;
  }
  const std::string_view fixed = directory.substr(0, kZipDirectoryEntryBytes);
  const size_t name_bytes = Get<uint16_t>(fixed, 28);
  const size_t extra_bytes = Get<uint16_t>(fixed, 30);
  const size_t comment_bytes = Get<uint16_t>(fixed, 32);
  directory.remove_prefix(fixed.size());
  if (directory.size() < name_bytes + extra_bytes + comment_bytes) {
    return damaged;
  }
  Entry entry;
  ZipMember& member = entry.member;
  member.name = directory.substr(0, name_bytes);
  const std::string_view extra = directory.substr(name_bytes, extra_bytes);
  directory.remove_prefix(name_bytes + extra_bytes + comment_bytes);
  entry.method = Get<uint16_t>(fixed, 10);
  member.deflated = entry.method == kZipDeflated;
  member.crc32 = Get<uint32_t>(fixed, 16);
  member.stored_bytes = Get<uint32_t>(fixed, 20);
  member.bytes = Get<uint32_t>(fixed, 24);
  entry.header = Get<uint32_t>(fixed, 42);
  std::vector<uint64_t*> large;
  for (uint64_t* number :
       {&member.bytes, &member.stored_bytes, &entry.header}) {
    if (*number == kZipLimit32) large.push_back(number);
  }
  absl::Status status = ReadExtra64(extra, large);
  if (status.ok()) {
    status =
        CheckEntry(entry, Get<uint16_t>(fixed, 8), Get<uint16_t>(fixed, 34));
  }
  if (!status.ok()) return InMember(status, member.name);
  return entry;
}

// Finds the data of a member after its local header, which must be valid and of
// this member. Nothing may extend beyond `limit`.
absl::Status PlaceData(const ReadableFile& file, uint64_t limit, Entry& entry) {
  ZipMember& member = entry.member;
  const uint64_t header_bytes = kZipLocalHeaderBytes + member.name.size();
  const std::optional<uint64_t> name_end =
      CheckedAdd(entry.header, header_bytes);
  if (!name_end || *name_end > limit) {
    return absl::DataLossError("it is not inside of the file");
  }
  const absl::StatusOr<std::string> header =
      ReadText(file, entry.header, header_bytes);
  CAPSTAN_RETURN_IF_ERROR(header.status());
  if (Get<uint32_t>(*header, 0) != kZipLocalHeader ||
      Get<uint16_t>(*header, 8) != entry.method ||
      Get<uint16_t>(*header, 26) != member.name.size() ||
      !absl::EndsWith(*header, member.name)) {
    return absl::DataLossError("what is in its place is not it");
  }
  const uint64_t extra = Get<uint16_t>(*header, 28);
  member.begin = *name_end + extra;
  if (member.begin <= limit && member.stored_bytes <= limit - member.begin) {
    return absl::OkStatus();
  }
  return absl::DataLossError("it is not inside of the file");
}

absl::Status CheckApart(const std::vector<Entry>& entries) {
  for (size_t i = 1; i < entries.size(); ++i) {
    const ZipMember& before = entries[i - 1].member;
    if (entries[i].header >= before.begin + before.stored_bytes) continue;
    return InMember(absl::DataLossError(absl::StrCat(
                        "it begins inside of member ", Shown(before.name))),
                    entries[i].member.name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ZipMember>> ReadZipDirectory(
    const ReadableFile& file) {
  const absl::StatusOr<EntryPlace> place = FindDirectory(file);
  CAPSTAN_RETURN_IF_ERROR(place.status());
  const absl::StatusOr<std::string> text = ReadDirectory(file, *place);
  CAPSTAN_RETURN_IF_ERROR(text.status());
  std::vector<Entry> entries;
  std::string_view rest = *text;
  for (uint64_t i = 0; i < place->count; ++i) {
    absl::StatusOr<Entry> entry = ParseEntry(rest);
    CAPSTAN_RETURN_IF_ERROR(entry.status());
    CAPSTAN_RETURN_IF_ERROR(
        InMember(PlaceData(file, place->begin, *entry), entry->member.name));
    entries.push_back(*std::move(entry));
  }
  if (!rest.empty()) return Damaged("its directory has a remainder");
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.header < b.header; });
  CAPSTAN_RETURN_IF_ERROR(CheckApart(entries));
  std::set<std::string> names;
  std::vector<ZipMember> members;
  for (Entry& entry : entries) {
    ZipMember& member = entry.member;
    if (member.name.ends_with('/') && member.bytes == 0) continue;
    if (!names.insert(member.name).second) {
      return InMember(absl::DataLossError("it is there twice"), member.name);
    }
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace capstan
