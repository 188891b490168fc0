#include "transport/tls/tls_context.h"

#include <utility>

#include "transport/tls/tls_credentials.h"

namespace capstan {

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::Load(
    Clock& clock, TlsOptions options) {
  std::unique_ptr<TlsContext> context(
      new TlsContext(clock, std::move(options)));
  const absl::Status loaded = context->Reload();
  if (!loaded.ok()) return loaded;
  return context;
}

absl::Status TlsContext::Reload() {
  absl::StatusOr<std::shared_ptr<const TlsCredentials>> loaded =
      LoadTlsCredentials(options_, clock_.WallNow());
  if (!loaded.ok()) return loaded.status();
  std::lock_guard lock(mutex_);
  credentials_ = *std::move(loaded);
  return absl::OkStatus();
}

std::shared_ptr<const TlsCredentials> TlsContext::credentials() const {
  std::lock_guard lock(mutex_);
  return credentials_;
}

}  // namespace capstan
