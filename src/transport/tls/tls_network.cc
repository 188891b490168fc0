#include "transport/tls/tls_network.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "transport/tls/tls_stream.h"

namespace capstan {
namespace {

class TlsAcceptor final : public Acceptor {
 public:
  TlsAcceptor(const TlsContext& context, std::unique_ptr<Acceptor> inner)
      : context_(context), inner_(std::move(inner)) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Accept(
      const Executor& executor) override {
    return AcceptFrom(*inner_, context_, executor);
  }
  std::string address() const override { return inner_->address(); }
  void Close() override { inner_->Close(); }

 private:
  // Does not use the TLS acceptor after suspending: it may be destroyed
  // meanwhile.
  static Task<absl::StatusOr<std::unique_ptr<Stream>>> AcceptFrom(
      Acceptor& inner, const TlsContext& context, Executor executor) {
    absl::StatusOr<std::unique_ptr<Stream>> stream =
        co_await inner.Accept(executor);
    if (!stream.ok()) co_return stream;
    co_return std::make_unique<TlsStream>(executor, context, TlsRole::kServer,
                                          *std::move(stream));
  }

  const TlsContext& context_;
  const std::unique_ptr<Acceptor> inner_;
};

}  // namespace

Task<absl::StatusOr<std::unique_ptr<Stream>>> TlsNetwork::Connect(
    Executor executor, std::string address, MonotonicTime deadline) {
  absl::StatusOr<std::unique_ptr<Stream>> inner =
      co_await inner_.Connect(executor, address, deadline);
  if (!inner.ok()) co_return inner;
  auto stream = std::make_unique<TlsStream>(
      executor, context_, TlsRole::kClient, *std::move(inner));
  const absl::Status status = co_await stream->Handshake(deadline);
  if (!status.ok()) {
    co_return WithContext(status, absl::StrCat("cannot connect to ", address));
  }
  co_return std::move(stream);
}

absl::StatusOr<std::unique_ptr<Acceptor>> TlsNetwork::Listen(
    const Executor& executor, const std::string& address) {
  absl::StatusOr<std::unique_ptr<Acceptor>> inner =
      inner_.Listen(executor, address);
  if (!inner.ok()) return inner;
  return std::make_unique<TlsAcceptor>(context_, *std::move(inner));
}

}  // namespace capstan
