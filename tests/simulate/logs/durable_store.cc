#include "simulate/logs/durable_store.h"

#include <array>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/status.h"

namespace capstan::simulate {
namespace {

constexpr char kDirectory[] = "log";
constexpr size_t kRecordBytes = 12;
constexpr uint64_t kRecordsPerSegment = 20;
constexpr uint64_t kMaxSegmentBytes = 1 << 20;

using Record = std::array<std::byte, kRecordBytes>;

Record EncodeRecord(uint64_t value) {
  Record record;
  for (size_t i = 0; i < 8; ++i) {
    record[i] = static_cast<std::byte>(value >> (8 * i));
  }
  const uint32_t checksum = Crc32c(Bytes(record).first(8));
  for (size_t i = 0; i < 4; ++i) {
    record[8 + i] = static_cast<std::byte>(checksum >> (8 * i));
  }
  return record;
}

uint64_t ValueOf(Bytes record) {
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) {
    value = value << 8 | static_cast<uint64_t>(record[i]);
  }
  return value;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DurableStore>> DurableStore::Open(
    FileSystem& files, Plant plant) {
  std::unique_ptr<DurableStore> store(new DurableStore(files, plant));
  CAPSTAN_RETURN_IF_ERROR(store->Recover());
  CAPSTAN_RETURN_IF_ERROR(store->BeginSegment());
  return store;
}

absl::Status DurableStore::Recover() {
  const absl::Status made = files_.CreateDir(kDirectory);
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  CAPSTAN_RETURN_IF_ERROR(files_.SyncDir(""));
  const absl::StatusOr<std::vector<std::string>> names =
      files_.List(kDirectory);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    uint64_t number = 0;
    // A segment that was started but not renamed has no records.
    if (!absl::SimpleAtoi(name, &number)) continue;
    number_ = number;
    CAPSTAN_RETURN_IF_ERROR(ReadSegment(name));
  }
  return absl::OkStatus();
}

absl::Status DurableStore::ReadSegment(const std::string& name) {
  const absl::StatusOr<std::string> content =
      ReadFile(files_, JoinPath(kDirectory, name), kMaxSegmentBytes);
  if (!content.ok()) return content.status();
  Bytes left = AsBytes(*content);
  while (left.size() >= kRecordBytes) {
    const Bytes bytes = left.first(kRecordBytes);
    const uint64_t value = ValueOf(bytes);
    const Record right = EncodeRecord(value);
    if (AsText(bytes) != AsText(right)) break;
    found_.push_back(value);
    left = left.subspan(kRecordBytes);
  }
  return absl::OkStatus();
}

absl::Status DurableStore::BeginSegment() {
  const std::string name = absl::StrFormat("%06d", ++number_);
  const std::string path = JoinPath(kDirectory, name);
  const std::string temporary = path + ".new";
  absl::StatusOr<std::unique_ptr<WritableFile>> file =
      files_.CreateForWrite(temporary, IfExists::kTruncate);
  if (!file.ok()) return file.status();
  CAPSTAN_RETURN_IF_ERROR((*file)->Sync());
  CAPSTAN_RETURN_IF_ERROR(files_.Rename(temporary, path));
  if (plant_ != Plant::kLostName) {
    CAPSTAN_RETURN_IF_ERROR(files_.SyncDir(kDirectory));
  }
  segment_ = *std::move(file);
  written_ = durable_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<DurableStore::Place> DurableStore::Append(uint64_t value) {
  if (segment_ != nullptr && written_ >= kRecordsPerSegment) {
    CAPSTAN_RETURN_IF_ERROR(Sync({number_, written_}));
    segment_ = nullptr;
  }
  if (segment_ == nullptr) CAPSTAN_RETURN_IF_ERROR(BeginSegment());
  const Record record = EncodeRecord(value);
  const absl::Status status = segment_->Append(record);
  if (!status.ok()) {
    GiveUpSegment();
    return status;
  }
  return Place{number_, ++written_};
}

absl::Status DurableStore::Sync(Place place) {
  if (plant_ == Plant::kLostSync) return absl::OkStatus();
  const auto failed = failed_.find(place.segment);
  if (failed != failed_.end() && place.index > failed->second) {
    return absl::DataLossError("the record was lost");
  }
  // Older segments were synced when this one was started.
  if (place.segment != number_ || place.index <= durable_) {
    return absl::OkStatus();
  }
  const absl::Status status = segment_->Sync();
  if (!status.ok()) {
    GiveUpSegment();
    return status;
  }
  durable_ = written_;
  return absl::OkStatus();
}

void DurableStore::GiveUpSegment() {
  failed_[number_] = durable_;
  segment_ = nullptr;
}

}  // namespace capstan::simulate
