#include "coordinator/checkpoint/stage_tensors.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "base/async/run_on.h"
#include "base/status.h"

namespace capstan {
namespace {

// Sends the rows of one copy as the bytes of its tensor arrive.
class RowSender {
 public:
  RowSender(const StageTarget& target, const RestoreCopy& copy)
      : target_(target),
        copy_(copy),
        begin_(copy.copy.source_row * copy.row_bytes),
        end_(begin_ + copy.copy.rows * copy.row_bytes),
        row_(copy.copy.target_row) {}

  absl::Status Take(uint64_t offset, Bytes piece) {
    const uint64_t from = std::max(offset, begin_);
    const uint64_t to = std::min(offset + piece.size(), end_);
    if (from >= to) return absl::OkStatus();
    Bytes mine = piece.subspan(from - offset, to - from);
    if (!begun_.empty()) {
      const Bytes more = mine.first(
          std::min<size_t>(mine.size(), copy_.row_bytes - begun_.size()));
      begun_.insert(begun_.end(), more.begin(), more.end());
      mine = mine.subspan(more.size());
      if (begun_.size() < copy_.row_bytes) return absl::OkStatus();
      CAPSTAN_RETURN_IF_ERROR(Send(1, begun_));
      begun_.clear();
    }
    const size_t whole = mine.size() / copy_.row_bytes;
    const Bytes rows = mine.first(whole * copy_.row_bytes);
    if (whole > 0) CAPSTAN_RETURN_IF_ERROR(Send(whole, rows));
    mine = mine.subspan(rows.size());
    begun_.assign(mine.begin(), mine.end());
    return absl::OkStatus();
  }

  // After the last piece: rows without elements are in no piece.
  absl::Status Finish() {
    if (copy_.row_bytes != 0) return absl::OkStatus();
    return Send(copy_.copy.rows, {});
  }

 private:
  // Sends the next `count` rows, whose bytes are `rows`.
  absl::Status Send(uint64_t count, Bytes rows) {
    StageRowsRequest request;
    request.fence = target_.fence;
    request.restore_id = target_.restore_id;
    request.key = copy_.copy.key;
    request.map_version = target_.map_version;
    request.slot = copy_.copy.slot;
    request.begin = row_;
    request.end = row_ + count;
    UpdateOptions options;
    options.timeout = std::chrono::minutes(5);
    options.cancellation = target_.until_lost.get();
    CAPSTAN_RETURN_IF_ERROR(
        RunOn(target_.executor,
              target_.client->StageRows(copy_.server, request, rows, options)));
    row_ += count;
    return absl::OkStatus();
  }

  const StageTarget& target_;
  const RestoreCopy& copy_;
  const uint64_t begin_;
  const uint64_t end_;
  uint64_t row_;
  std::vector<std::byte> begun_;  // the beginning of an incomplete row
};

}  // namespace

absl::Status StageTensors(const StageTarget& target,
                          const std::vector<const RestoreCopy*>& copies,
                          const TensorSource& source) {
  std::map<std::string, std::vector<RowSender>> senders;
  for (const RestoreCopy* copy : copies) {
    senders[copy->copy.tensor].emplace_back(target, *copy);
  }
  for (auto& [tensor, those] : senders) {
    const auto take = [&all = those](uint64_t offset, Bytes piece) {
      absl::Status status;
      for (RowSender& sender : all) {
        status = sender.Take(offset, piece);
        if (!status.ok()) break;
      }
      return status;
    };
    CAPSTAN_RETURN_IF_ERROR(source.Read(tensor, take));
    for (RowSender& sender : those) CAPSTAN_RETURN_IF_ERROR(sender.Finish());
  }
  return absl::OkStatus();
}

}  // namespace capstan
