#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "checkpoint/shard_file.h"
#include "checkpoint/tensor_file/combine_crc32c.h"
#include "checkpoint/tensor_file/hex_text.h"

namespace capstan {
namespace {

// Elements are read in their in-memory representation.
static_assert(std::endian::native == std::endian::little);

constexpr uint64_t kHeaderLengthBytes = sizeof(uint64_t);
// Large enough that the calls cost nothing, small enough to stay in a core's
// cache: with 4 MiB, reading takes a fifth longer.
constexpr uint64_t kReadPieceBytes = uint64_t{1} << 20;

// Uninitialised, because zeroing it would cost as much as reading small files.
struct Piece {
  explicit Piece(uint64_t largest)
      : size(static_cast<size_t>(std::min(largest, kReadPieceBytes))),
        memory(new std::byte[size]) {}
  MutableBytes bytes() const { return {memory.get(), size}; }
  size_t size;
  std::unique_ptr<std::byte[]> memory;
};

absl::Status WhileReading(const absl::Status& status, std::string_view path) {
  return WithContext(
      status, absl::StrCat("read \"",
                           absl::string_view(path.data(), path.size()), "\""));
}

absl::Status InTensor(const absl::Status& status, const std::string& name) {
  return WithContext(status, absl::StrCat("tensor \"", name, "\""));
}

uint64_t SizeOf(const SafetensorsEntry& entry) {
  return entry.end - entry.begin;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ShardFileReader>> ShardFileReader::Open(
    const FileSystem& files, std::string_view path, const SavedFile& expected,
    uint64_t save_id) {
  auto reader = std::unique_ptr<ShardFileReader>(new ShardFileReader());
  reader->path_ = path;
  reader->expected_ = expected;
  auto file = files.OpenForRead(path);
  if (absl::IsNotFound(file.status())) {
    return WhileReading(absl::DataLossError("the file is missing"), path);
  }
  CAPSTAN_RETURN_IF_ERROR(file.status());
  reader->file_ = *std::move(file);
  CAPSTAN_RETURN_IF_ERROR(WhileReading(reader->ReadHeader(save_id), path));
  return reader;
}

absl::Status ShardFileReader::ReadHeader(uint64_t save_id) {
  const absl::StatusOr<uint64_t> size = file_->Size();
  CAPSTAN_RETURN_IF_ERROR(size.status());
  if (*size != expected_.bytes) {
    return absl::DataLossError(absl::StrCat("it has ", *size, " bytes and not ",
                                            expected_.bytes,
                                            ", as the manifest says"));
  }
  uint64_t length = 0;
  CAPSTAN_RETURN_IF_ERROR(
      ReadAll(0, std::as_writable_bytes(std::span(&length, 1))));
  if (length > kMaxSafetensorsHeader || length > *size - kHeaderLengthBytes) {
    return absl::DataLossError(absl::StrCat("a header of ", length,
                                            " bytes in a file of ", *size,
                                            ": it is damaged"));
  }
  std::string text(kHeaderLengthBytes + length, '\0');
  CAPSTAN_RETURN_IF_ERROR(ReadAll(0, std::as_writable_bytes(std::span(text))));
  absl::StatusOr<SafetensorsHeader> header =
      ParseSafetensorsJson(std::string_view(text).substr(kHeaderLengthBytes));
  if (!header.ok()) return absl::DataLossError(header.status().message());
  header_ = *std::move(header);
  data_begin_ = text.size();
  CAPSTAN_RETURN_IF_ERROR(
      PlaceSafetensors(header_.entries, *size - data_begin_));
  CAPSTAN_RETURN_IF_ERROR(CheckSaveId(save_id));
  CAPSTAN_RETURN_IF_ERROR(ArrangeTensors());
  CAPSTAN_RETURN_IF_ERROR(CheckHeaderCrc(Crc32c(AsBytes(text))));
  for (const SafetensorsEntry& entry : header_.entries) {
    index_.emplace(entry.name, index_.size());
  }
  return absl::OkStatus();
}

absl::Status ShardFileReader::CheckSaveId(uint64_t save_id) const {
  const auto id = header_.metadata.find("save_id");
  const std::string found =
      id == header_.metadata.end() ? "missing" : id->second;
  if (found == Hex64(save_id)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("its save id is ", found, ", but that of the manifest is ",
                   Hex64(save_id), ": the file is of another checkpoint"));
}

// Tensors without elements begin where others do, so the file does not
// determine their order.
absl::Status ShardFileReader::ArrangeTensors() {
  std::map<std::string_view, SafetensorsEntry*> found;
  for (SafetensorsEntry& entry : header_.entries) {
    found.emplace(entry.name, &entry);
  }
  std::vector<SafetensorsEntry> arranged;
  uint64_t begin = 0;
  for (const SavedTensor& tensor : expected_.tensors) {
    const auto at = found.find(tensor.name);
    if (at == found.end() || at->second->begin != begin) {
      return InTensor(
          absl::DataLossError(at == found.end()
                                  ? "the manifest has it, but the file not"
                                  : "it is not where the manifest has it"),
          tensor.name);
    }
    begin = at->second->end;
    arranged.push_back(*at->second);
    found.erase(at);
  }
  if (!found.empty()) {
    return InTensor(
        absl::DataLossError("the file has it, but the manifest not"),
        found.begin()->second->name);
  }
  header_.entries = std::move(arranged);
  return absl::OkStatus();
}

absl::Status ShardFileReader::CheckHeaderCrc(uint32_t crc) const {
  for (size_t i = 0; i < header_.entries.size(); ++i) {
    crc = CombineCrc32c(crc, expected_.tensors[i].crc32c,
                        SizeOf(header_.entries[i]));
  }
  if (crc == expected_.crc32c) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("its header makes the checksum ", Hex32(crc),
                   ", but that of the manifest is ", Hex32(expected_.crc32c),
                   ": the header is damaged"));
}

const SafetensorsEntry* ShardFileReader::Find(std::string_view tensor) const {
  const auto found = index_.find(tensor);
  return found == index_.end() ? nullptr : &header_.entries[found->second];
}

absl::StatusOr<ShardFileReader::Cursor> ShardFileReader::Begin(
    std::string_view tensor) const {
  const auto found = index_.find(tensor);
  if (found != index_.end()) return Cursor{.tensor = found->second};
  return WhileReading(
      absl::NotFoundError(
          absl::StrCat("no tensor \"",
                       absl::string_view(tensor.data(), tensor.size()), "\"")),
      path_);
}

absl::StatusOr<size_t> ShardFileReader::ReadNext(Cursor& cursor,
                                                 MutableBytes buffer) const {
  absl::StatusOr<size_t> got = ReadPiece(cursor, buffer);
  CAPSTAN_RETURN_IF_ERROR(WhileReading(got.status(), path_));
  return got;
}

absl::Status ShardFileReader::Read(std::string_view tensor,
                                   const Take& take) const {
  const absl::StatusOr<Cursor> cursor = Begin(tensor);
  CAPSTAN_RETURN_IF_ERROR(cursor.status());
  const Piece piece(SizeOf(header_.entries[cursor->tensor]));
  return WhileReading(ReadTensor(cursor->tensor, piece.bytes(), take), path_);
}

absl::Status ShardFileReader::Verify() const {
  uint64_t largest = data_begin_;
  for (const SafetensorsEntry& entry : header_.entries) {
    largest = std::max(largest, SizeOf(entry));
  }
  const Piece piece(largest);
  // The header may have changed since the file was opened.
  uint32_t crc = 0;
  for (uint64_t done = 0; done < data_begin_;) {
    const MutableBytes part = piece.bytes().first(static_cast<size_t>(
        std::min<uint64_t>(piece.size, data_begin_ - done)));
    CAPSTAN_RETURN_IF_ERROR(WhileReading(ReadAll(done, part), path_));
    crc = ExtendCrc32c(crc, part);
    done += part.size();
  }
  std::vector<std::string> bad;
  const absl::Status header = CheckHeaderCrc(crc);
  if (!header.ok()) bad.emplace_back(header.message());
  for (size_t i = 0; i < header_.entries.size(); ++i) {
    const absl::Status status = ReadTensor(
        i, piece.bytes(),
        [](uint64_t /*offset*/, Bytes /*piece*/) { return absl::OkStatus(); });
    if (absl::IsDataLoss(status)) {
      bad.emplace_back(status.message());
    } else {
      CAPSTAN_RETURN_IF_ERROR(WhileReading(status, path_));
    }
  }
  if (bad.empty()) return absl::OkStatus();
  return WhileReading(absl::DataLossError(absl::StrJoin(bad, "; ")), path_);
}

absl::Status ShardFileReader::ReadTensor(size_t index, MutableBytes buffer,
                                         const Take& take) const {
  const SafetensorsEntry& entry = header_.entries[index];
  Cursor cursor{.tensor = index};
  while (cursor.offset < SizeOf(entry)) {
    const uint64_t offset = cursor.offset;
    const absl::StatusOr<size_t> got = ReadPiece(cursor, buffer);
    CAPSTAN_RETURN_IF_ERROR(got.status());
    CAPSTAN_RETURN_IF_ERROR(
        InTensor(take(offset, buffer.first(*got)), entry.name));
  }
  // A tensor without elements has a checksum too.
  return ReadPiece(cursor, {}).status();
}

absl::StatusOr<size_t> ShardFileReader::ReadPiece(Cursor& cursor,
                                                  MutableBytes buffer) const {
  const SafetensorsEntry& entry = header_.entries[cursor.tensor];
  const uint64_t left = SizeOf(entry) - cursor.offset;
  const MutableBytes piece = buffer.first(
      static_cast<size_t>(std::min<uint64_t>(buffer.size(), left)));
  CAPSTAN_RETURN_IF_ERROR(InTensor(
      ReadAll(data_begin_ + entry.begin + cursor.offset, piece), entry.name));
  cursor.crc32c = ExtendCrc32c(cursor.crc32c, piece);
  cursor.offset += piece.size();
  if (piece.size() < left) return piece.size();
  const uint32_t expected = expected_.tensors[cursor.tensor].crc32c;
  if (cursor.crc32c == expected) return piece.size();
  return InTensor(
      absl::DataLossError(absl::StrCat("its checksum is ", Hex32(cursor.crc32c),
                                       ", but that of the manifest is ",
                                       Hex32(expected), ": it is damaged")),
      entry.name);
}

absl::Status ShardFileReader::ReadAll(uint64_t offset,
                                      MutableBytes buffer) const {
  const absl::StatusOr<size_t> got = file_->ReadAt(offset, buffer);
  CAPSTAN_RETURN_IF_ERROR(got.status());
  if (*got == buffer.size()) return absl::OkStatus();
  return absl::DataLossError("the file became shorter while it was read");
}

}  // namespace capstan
