#include "telemetry/event_file.h"

#include <array>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "telemetry/proto_writer.h"

namespace capstan {
namespace {

constexpr size_t kWriteFrom = size_t{64} << 10;
// Bounds the search for a free name, in case the directory cannot be listed.
constexpr int kMostNames = 10'000;

std::string PlainName(std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (!absl::ascii_isalnum(byte) && c != '.' && c != '-' && c != '_') c = '_';
  }
  return name;
}

// Creates the directory and its parents.
absl::Status MakeDirectory(FileSystem& files, std::string_view directory) {
  for (size_t end = 0; end != directory.npos && !directory.empty();) {
    end = directory.find('/', end + 1);
    const absl::Status made = files.CreateDir(directory.substr(0, end));
    if (!absl::IsAlreadyExists(made)) CAPSTAN_RETURN_IF_ERROR(made);
  }
  return absl::OkStatus();
}

double Seconds(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

}  // namespace

void AppendRecord(std::string_view data, std::string& buffer) {
  const size_t start = buffer.size();
  AppendLittleEndian(buffer, uint64_t{data.size()});
  const auto length = std::string_view(buffer).substr(start);
  AppendLittleEndian(buffer, MaskCrc32c(Crc32c(AsBytes(length))));
  buffer.append(data);
  AppendLittleEndian(buffer, MaskCrc32c(Crc32c(AsBytes(data))));
}

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::Create(
    FileSystem& files, std::string_view directory, const Clock& clock,
    const EventFileWriter& writer) {
  CAPSTAN_RETURN_IF_ERROR(MakeDirectory(files, directory));
  const WallTime now = clock.WallNow();
  const std::string name = absl::StrCat(
      "events.out.tfevents.",
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count(),
      ".", PlainName(writer.host), ".", writer.process, ".");
  for (int number = 0;; ++number) {
    std::string path = JoinPath(directory, absl::StrCat(name, number));
    auto file = files.CreateForWrite(path, IfExists::kFail);
    if (absl::IsAlreadyExists(file.status()) && number < kMostNames) continue;
    CAPSTAN_RETURN_IF_ERROR(file.status());
    std::unique_ptr<EventFile> events(
        new EventFile(std::move(path), *std::move(file), clock));
    AppendRecord(EncodeFileVersion(Seconds(now)), events->buffer_);
    CAPSTAN_RETURN_IF_ERROR(events->Flush());
    return events;
  }
}

EventFile::EventFile(std::string path, std::unique_ptr<WritableFile> file,
                     const Clock& clock)
    : path_(std::move(path)), clock_(clock), file_(std::move(file)) {}

EventFile::~EventFile() { (void)Flush(); }

absl::Status EventFile::Restart(int64_t step) {
  AppendRecord(EncodeRestart(WallSeconds(), step), buffer_);
  return Flush();
}

absl::Status EventFile::Scalar(std::string_view tag, int64_t step,
                               double value) {
  return Add(step, ScalarValue(tag, static_cast<float>(value)));
}

absl::Status EventFile::Histogram(std::string_view tag, int64_t step,
                                  std::span<const float> values) {
  return Histogram(tag, step, SpreadOf(values));
}

absl::Status EventFile::Histogram(std::string_view tag, int64_t step,
                                  const ValueHistogram& histogram) {
  return Add(step, HistogramSummary(tag, histogram));
}

absl::Status EventFile::Text(std::string_view tag, int64_t step,
                             std::string_view text) {
  return Add(step, TextValue(tag, text));
}

absl::Status EventFile::HParams(
    const std::map<std::string, HParamValue>& hparams,
    std::span<const HParamMetric> metrics) {
  CAPSTAN_RETURN_IF_ERROR(
      Add(0, HParamsExperiment(WallSeconds(), hparams, metrics)));
  return Add(0, HParamsStart(WallSeconds(), hparams));
}

absl::Status EventFile::EndHParams(HParamsOutcome end) {
  return Add(0, HParamsEnd(WallSeconds(), end));
}

absl::Status EventFile::Flush() {
  if (buffer_.empty()) return absl::OkStatus();
  const std::string records = std::exchange(buffer_, {});
  return file_->Append(AsBytes(records));
}

double EventFile::WallSeconds() const { return Seconds(clock_.WallNow()); }

absl::Status EventFile::Add(int64_t step, const ProtoWriter& value) {
  AppendRecord(EncodeSummary(WallSeconds(), step, value), buffer_);
  return buffer_.size() < kWriteFrom ? absl::OkStatus() : Flush();
}

}  // namespace capstan
