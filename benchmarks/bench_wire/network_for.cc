#include "bench_wire/network_for.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "testing/test_certificates.h"
#include "transport/tcp/tcp_network.h"
#include "transport/tls/tls_context.h"
#include "transport/tls/tls_network.h"

namespace capstan {
namespace {

// TLS over TCP, with everything it depends on.
class OwningTlsNetwork final : public Network {
 public:
  OwningTlsNetwork(Clock& clock, std::unique_ptr<TlsContext> context)
      : tcp_(clock), context_(std::move(context)), tls_(tcp_, *context_) {}

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Connect(
      Executor executor, std::string address, MonotonicTime deadline) override {
    return tls_.Connect(std::move(executor), std::move(address), deadline);
  }
  absl::StatusOr<std::unique_ptr<Acceptor>> Listen(
      const Executor& executor, const std::string& address) override {
    return tls_.Listen(executor, address);
  }

 private:
  TcpNetwork tcp_;
  const std::unique_ptr<TlsContext> context_;
  TlsNetwork tls_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> NetworkFor(
    Clock& clock, const std::string& transport, const std::string& directory,
    const std::string& role) {
  if (transport != "tls") return std::make_unique<TcpNetwork>(clock);
  TlsOptions options;
  options.ca_file = absl::StrCat(directory, "/ca.pem");
  options.certificate_file = absl::StrCat(directory, "/", role, ".pem");
  options.key_file = absl::StrCat(directory, "/", role, ".key");
  absl::StatusOr<std::unique_ptr<TlsContext>> context =
      TlsContext::Load(clock, std::move(options));
  if (!context.ok()) return context.status();
  return std::make_unique<OwningTlsNetwork>(clock, *std::move(context));
}

void WriteKeys(const std::string& directory) {
  const testing::TestAuthority authority(directory);
  for (const char* role : {"ps", "worker"}) {
    authority.Issue(role, absl::StrCat(role, "/0"));
  }
}

}  // namespace capstan
