#include "transport/keepalive.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration)
      .count();
}

}  // namespace

Task<absl::Status> WatchLiveness(Clock& clock, Timer& timer,
                                 FrameReader& reader, FrameWriter& writer,
                                 LivenessOptions options, const bool& stopped) {
  const Duration tick =
      std::min(options.keepalive.interval, options.stall_timeout) / 2;
  while (!stopped) {
    const MonotonicTime due = clock.Now() + tick;
    co_await timer.SleepUntil(due);
    if (stopped) break;
    const MonotonicTime now = clock.Now();
    // Woken late, or this side has paused the reader: start over.
    if (now - due > tick || !reader.waiting()) {
      reader.set_last_heard(now);
      continue;
    }
    const Duration silence = now - reader.last_heard();
    if (reader.inside_message() && silence >= options.stall_timeout) {
      co_return absl::UnavailableError(
          absl::StrCat("stopped in the middle of a message ",
                       Milliseconds(silence), " ms ago"));
    }
    if (!options.ping) continue;
    if (silence >= options.keepalive.timeout) {
      co_return absl::UnavailableError(
          absl::StrCat("no sign of life for ", Milliseconds(silence), " ms"));
    }
    if (silence >= options.keepalive.interval) {
      FrameHeader ping;
      ping.kind = FrameKind::kPing;
      writer.SendControl(ping);
    }
  }
  co_return absl::OkStatus();
}

}  // namespace capstan
