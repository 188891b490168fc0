#include "launch/security/watch_tls.h"

#include <memory>
#include <string>

#include "base/status.h"
#include "launch/system/date_text.h"

namespace capstan {
namespace {

// `complaint` is the last warning, kept so that it is not repeated.
void ReloadIfChanged(TlsContext& context, const Logger& logger,
                     std::string& complaint) {
  const absl::StatusOr<bool> reloaded = context.ReloadIfChanged();
  if (reloaded.ok()) {
    complaint.clear();
    if (*reloaded) {
      logger.Info("new certificates are in use, valid until {}",
                  DateText(context.not_after()));
    }
    return;
  }
  std::string why = Describe(reloaded.status());
  if (why == complaint) return;
  complaint = std::move(why);
  logger.Warning("new certificates cannot be used, and the old ones stay: {}",
                 complaint);
}

}  // namespace

Task<> WatchTls(Clock& clock, Executor executor, Logger logger,
                TlsContext& context, Duration interval) {
  const std::unique_ptr<Timer> timer = clock.NewTimer(executor);
  std::string complaint;
  while (true) {
    const MonotonicTime next = clock.Now() + interval;
    const bool slept = co_await timer->SleepUntil(next);
    if (!slept) co_return;
    ReloadIfChanged(context, logger, complaint);
  }
}

}  // namespace capstan
