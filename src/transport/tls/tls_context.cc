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
  const Stamps stamps = StampFiles();
  absl::StatusOr<std::shared_ptr<const TlsCredentials>> loaded =
      LoadTlsCredentials(options_, clock_.WallNow());
  if (!loaded.ok()) return loaded.status();
  std::lock_guard lock(mutex_);
  credentials_ = *std::move(loaded);
  stamps_ = stamps;
  return absl::OkStatus();
}

absl::StatusOr<bool> TlsContext::ReloadIfChanged() {
  const Stamps stamps = StampFiles();
  {
    std::lock_guard lock(mutex_);
    if (stamps == stamps_) return false;
  }
  const absl::Status reloaded = Reload();
  if (!reloaded.ok()) return reloaded;
  return true;
}

TlsContext::Stamps TlsContext::StampFiles() const {
  return {StampOf(options_.ca_file), StampOf(options_.certificate_file),
          StampOf(options_.key_file)};
}

std::shared_ptr<const TlsCredentials> TlsContext::credentials() const {
  std::lock_guard lock(mutex_);
  return credentials_;
}

WallTime TlsContext::not_after() const { return credentials()->not_after; }

}  // namespace capstan
