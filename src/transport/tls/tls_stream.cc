#include "transport/tls/tls_stream.h"

#include <utility>

#include "transport/tls/tls_core.h"

namespace capstan {

TlsStream::TlsStream(const Executor& executor, const TlsContext& context,
                     TlsRole role, std::unique_ptr<Stream> inner)
    : core_(std::make_shared<TlsCore>(context.clock(), executor,
                                      context.credentials(), role,
                                      std::move(inner))) {
  TlsCore::Start(core_);
}

TlsStream::~TlsStream() { TlsCore::Close(core_); }

Task<absl::Status> TlsStream::Handshake(MonotonicTime deadline) {
  return TlsCore::Handshake(core_, deadline);
}

Task<absl::StatusOr<size_t>> TlsStream::ReadSome(
    std::span<const MutableBytes> into) {
  return TlsCore::Read(core_, into);
}

Task<absl::StatusOr<size_t>> TlsStream::WriteSome(std::span<const Bytes> from) {
  return TlsCore::Write(core_, from);
}

void TlsStream::Interrupt() { core_->Interrupt(); }

void TlsStream::Close() { TlsCore::Close(core_); }

std::string TlsStream::peer_address() const { return core_->peer_address(); }

std::optional<std::string> TlsStream::peer_certificate() const {
  return core_->peer_names();
}

}  // namespace capstan
