// Loads new certificates while a task runs.
#pragma once

#include "base/async/clock.h"
#include "base/async/task.h"
#include "base/log.h"
#include "transport/tls/tls_context.h"

namespace capstan {

// Checks the files of `context` every `interval`, and reloads them when they
// have changed, with a line in the log. Files that are broken, or do not belong
// together yet, change nothing: they cause one warning and are retried. Runs on
// `executor` until the executor's context is destroyed; `clock` and `context`
// must live as long.
Task<> WatchTls(Clock& clock, Executor executor, Logger logger,
                TlsContext& context, Duration interval);

}  // namespace capstan
