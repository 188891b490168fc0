// Files that TensorBoard displays: curves, distributions, text and
// hyperparameters of a run.
//
//   auto events = EventFile::Create(files, "logs/train", clock,
//                                   {.host = "node1", .process = 4711});
//   CAPSTAN_RETURN_IF_ERROR((*events)->Scalar("loss", step, loss));
//   CAPSTAN_RETURN_IF_ERROR((*events)->Flush());
//
// TensorBoard names the run after the directory, from `logs` on, and reads the
// file while it grows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/file/file_system.h"
#include "telemetry/event.h"
#include "telemetry/value_histogram.h"

namespace capstan {

// Who writes an event file; becomes part of its name.
struct EventFileWriter {
  // Characters other than letters, digits, '.', '-' and '_' become '_'.
  std::string host;
  int64_t process = 0;
};

// Not thread-safe. `files` and `clock` must outlive it.
//
// The methods that add something buffer it and write once the buffer exceeds 64
// KiB; Flush writes immediately. Each entry has the time of the call. Errors
// are those of FileSystem and name the file; after an error the file is lost
// (see WritableFile) and every further write fails.
class EventFile {
 public:
  // Creates a file in `directory`, which is created with its parents if
  // missing. The name is events.out.tfevents.SECONDS.HOST.PROCESS.N, where N is
  // the first number that is free: an existing file is never appended to. Only
  // the owner can read it, as with all files of FileSystem.
  static absl::StatusOr<std::unique_ptr<EventFile>> Create(
      FileSystem& files, std::string_view directory, const Clock& clock,
      const EventFileWriter& writer);

  // Writes the buffer, ignoring errors: call Flush first to see them.
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // The run resumes at `step`, which it has reached before, maybe in other
  // files: TensorBoard drops that step and later ones from them. This affects
  // all tags, so all should use the same step count.
  absl::Status Restart(int64_t step);

  // A point of the curve `tag`. TensorBoard keeps single precision.
  absl::Status Scalar(std::string_view tag, int64_t step, double value);

  // The distribution of values at `step`; see SpreadOf for non-finite values.
  absl::Status Histogram(std::string_view tag, int64_t step,
                         std::span<const float> values);
  absl::Status Histogram(std::string_view tag, int64_t step,
                         const ValueHistogram& histogram);

  // Text in Markdown.
  absl::Status Text(std::string_view tag, int64_t step, std::string_view text);

  // The hyperparameters that the run is started with and the scalars that it is
  // judged by, for the table on TensorBoard's HPARAMS page. Call once per run;
  // EndHParams says how the run ended.
  absl::Status HParams(const std::map<std::string, HParamValue>& hparams,
                       std::span<const HParamMetric> metrics);
  absl::Status EndHParams(HParamsOutcome end);

  // Writes the buffer so that readers see it. Not durable: curves are not worth
  // waiting for the disk.
  absl::Status Flush();

  // The file's path in `files`.
  const std::string& path() const { return path_; }

 private:
  EventFile(std::string path, std::unique_ptr<WritableFile> file,
            const Clock& clock);

  double WallSeconds() const;
  absl::Status Add(int64_t step, const ProtoWriter& value);

  const std::string path_;
  const Clock& clock_;
  const std::unique_ptr<WritableFile> file_;
  std::string buffer_;  // records not yet written
};

// Adds `data` to `buffer` as a TFRecord: u64 length, u32 masked CRC-32C of the
// length, the data, u32 masked CRC-32C of the data, all little-endian. Pure.
void AppendRecord(std::string_view data, std::string& buffer);

}  // namespace capstan
