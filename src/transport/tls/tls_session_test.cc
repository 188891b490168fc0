#include "transport/tls/tls_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/async/real_clock.h"
#include "base/random.h"
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/test_certificates.h"

namespace capstan {
namespace {

using absl::StatusCode::kUnauthenticated;
using absl::StatusCode::kUnavailable;
using testing::CertificateOptions;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::IsPattern;
using testing::Pattern;
using testing::StatusIs;
using testing::TempDir;
using testing::TestAuthority;

constexpr size_t kRecord = 16'384;
constexpr size_t kOverhead = 22;

class TlsSessionTest : public ::testing::Test {
 protected:
  std::shared_ptr<const TlsCredentials> Credentials(const TlsOptions& options) {
    return TlsContext::Load(clock_, options).value()->credentials();
  }
  std::unique_ptr<TlsSession> Session(const TlsOptions& options, TlsRole role) {
    return std::make_unique<TlsSession>(Credentials(options), role,
                                        clock_.WallNow());
  }
  void MakePair() {
    server_ = Session(authority_.Issue("server", "ps/0"), TlsRole::kServer);
    client_ = Session(authority_.Issue("client", "worker/3"), TlsRole::kClient);
  }

  RealClock clock_;
  const TempDir directory_;
  const TestAuthority authority_{directory_.path()};
  std::unique_ptr<TlsSession> server_;
  std::unique_ptr<TlsSession> client_;
};

// Moves output to input, in pieces of at most `piece` bytes.
void Carry(TlsSession& from, TlsSession& to, size_t piece = 1 << 20) {
  while (from.has_output()) {
    const Bytes output = from.FirstOutput();
    const MutableBytes space = to.InputSpace();
    const size_t count = std::min({piece, output.size(), space.size()});
    std::memcpy(space.data(), output.data(), count);
    to.AddInput(count);
    from.RemoveOutput(count);
    if (piece < 1 << 20) return;
  }
}

// Runs both handshakes to their ends.
std::pair<absl::Status, absl::Status> Shake(TlsSession& server,
                                            TlsSession& client) {
  absl::StatusOr<bool> server_done = false;
  absl::StatusOr<bool> client_done = false;
  for (int turn = 0; turn < 10; ++turn) {
    if (client_done.ok() && !*client_done) client_done = client.Handshake();
    Carry(client, server);
    if (server_done.ok() && !*server_done) server_done = server.Handshake();
    Carry(server, client);
  }
  return {server_done.status(), client_done.status()};
}

void ExpectShake(TlsSession& server, TlsSession& client) {
  const auto [server_status, client_status] = Shake(server, client);
  EXPECT_OK(server_status);
  EXPECT_OK(client_status);
}

absl::StatusOr<size_t> EncryptOne(TlsSession& session, Bytes bytes) {
  return session.Encrypt({&bytes, 1});
}
absl::StatusOr<size_t> DecryptOne(TlsSession& session, MutableBytes bytes) {
  return session.Decrypt({&bytes, 1});
}

TEST_F(TlsSessionTest, BothSidesLearnTheNames) {
  MakePair();
  EXPECT_EQ(client_->peer_names(), "");
  ExpectShake(*server_, *client_);
  EXPECT_EQ(client_->peer_names(), "ps/0");
  EXPECT_EQ(server_->peer_names(), "worker/3");
}

TEST_F(TlsSessionTest, TheHandshakeWorksByteByByte) {
  MakePair();
  bool server_done = false;
  bool client_done = false;
  for (int turn = 0; turn < 10'000 && !(server_done && client_done); ++turn) {
    if (!client_done) client_done = client_->Handshake().value();
    Carry(*client_, *server_, 1);
    if (!server_done) server_done = server_->Handshake().value();
    Carry(*server_, *client_, 1);
  }
  EXPECT_TRUE(server_done && client_done);
}

TEST_F(TlsSessionTest, TextArrives) {
  MakePair();
  ExpectShake(*server_, *client_);
  const std::vector<std::byte> sent = Pattern(1, 100'000);
  EXPECT_THAT(EncryptOne(*client_, sent), IsOkAndHolds(sent.size()));
  std::vector<std::byte> received;
  std::vector<std::byte> part(7'000);
  while (received.size() < sent.size()) {
    const absl::StatusOr<size_t> count = DecryptOne(*server_, part);
    ASSERT_OK(count);
    received.insert(received.end(), part.begin(),
                    part.begin() + static_cast<ptrdiff_t>(*count));
    if (*count == 0) Carry(*client_, *server_, 10'000);
  }
  EXPECT_TRUE(received == sent);
  EXPECT_THAT(DecryptOne(*server_, part), IsOkAndHolds(0u));
}

TEST_F(TlsSessionTest, SmallViewsShareRecords) {
  MakePair();
  ExpectShake(*server_, *client_);
  const std::vector<std::byte> sent = Pattern(2, 2 * kRecord);
  // A header, many small pieces, one large piece.
  std::vector<Bytes> views = {Bytes(sent).first(40)};
  for (size_t at = 40; at < 40 + 50 * 100; at += 100) {
    views.push_back(Bytes(sent).subspan(at, 100));
  }
  views.push_back(Bytes(sent).subspan(40 + 50 * 100));
  EXPECT_THAT(client_->Encrypt(views), IsOkAndHolds(sent.size()));
  EXPECT_EQ(client_->FirstOutput().size(), 2 * (kRecord + kOverhead));
  Carry(*client_, *server_);
  std::vector<std::byte> received(sent.size());
  EXPECT_THAT(DecryptOne(*server_, received), IsOkAndHolds(sent.size()));
  EXPECT_TRUE(received == sent);
}

TEST_F(TlsSessionTest, OneEncryptIsBoundedAndUsesFullRecords) {
  MakePair();
  ExpectShake(*server_, *client_);
  const std::vector<std::byte> large = Pattern(3, 10 << 20);
  EXPECT_THAT(EncryptOne(*client_, large),
              IsOkAndHolds(TlsSession::kMaxPlainBytes));
  EXPECT_EQ(client_->FirstOutput().size(),
            TlsSession::kMaxPlainBytes / kRecord * (kRecord + kOverhead));
  client_->RemoveOutput(client_->FirstOutput().size());
  // Also behind a header, with at most one record more.
  const std::vector<Bytes> views = {Bytes(large).first(40), Bytes(large)};
  const absl::StatusOr<size_t> count = client_->Encrypt(views);
  ASSERT_OK(count);
  EXPECT_EQ(*count % kRecord, 0u);
  EXPECT_LE(*count, TlsSession::kMaxPlainBytes + kRecord);
}

TEST_F(TlsSessionTest, KeysAreChanged) {
  constexpr size_t kKeyUpdate = 5 + kOverhead;
  server_ = Session(authority_.Issue("server", "ps/0"), TlsRole::kServer);
  client_ = std::make_unique<TlsSession>(
      Credentials(authority_.Issue("client", "worker/3")), TlsRole::kClient,
      clock_.WallNow(), /*records_per_key=*/4);
  ExpectShake(*server_, *client_);
  const std::vector<std::byte> sent = Pattern(8, 100);
  int updates = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(EncryptOne(*client_, sent));
    const size_t size = client_->FirstOutput().size();
    if (size == sent.size() + kOverhead + kKeyUpdate) ++updates;
    Carry(*client_, *server_);
    std::vector<std::byte> received(sent.size());
    EXPECT_THAT(DecryptOne(*server_, received), IsOkAndHolds(sent.size()));
    EXPECT_EQ(received, sent);
  }
  EXPECT_GE(updates, 19);
}

TEST_F(TlsSessionTest, OutputStaysInPlaceWhileMoreIsAdded) {
  MakePair();
  ExpectShake(*server_, *client_);
  const std::vector<std::byte> sent = Pattern(4, 1'000);
  ASSERT_OK(EncryptOne(*client_, sent));
  const Bytes first = client_->FirstOutput();
  const std::vector<std::byte> copy(first.begin(), first.end());
  for (int i = 0; i < 100; ++i) ASSERT_OK(EncryptOne(*client_, sent));
  EXPECT_EQ(client_->FirstOutput().data(), first.data());
  EXPECT_TRUE(std::equal(first.begin(), first.end(), copy.begin()));
}

TEST_F(TlsSessionTest, CloseNotifyIsTheEnd) {
  MakePair();
  ExpectShake(*server_, *client_);
  ASSERT_OK(EncryptOne(*client_, AsBytes("last words")));
  client_->CloseNotify();
  Carry(*client_, *server_);
  std::vector<std::byte> received(100);
  EXPECT_THAT(DecryptOne(*server_, received), IsOkAndHolds(10u));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(DecryptOne(*server_, received),
                StatusIs(kUnavailable, HasSubstr("the peer closed")));
  }
}

TEST_F(TlsSessionTest, ADamagedRecordBreaksTheConnection) {
  MakePair();
  ExpectShake(*server_, *client_);
  Random random(5);
  const std::vector<std::byte> sent = Pattern(5, 1'000);
  for (int i = 0; i < 50; ++i) {
    MakePair();
    ExpectShake(*server_, *client_);
    ASSERT_OK(EncryptOne(*client_, sent));
    const Bytes output = client_->FirstOutput();
    const MutableBytes space = server_->InputSpace();
    std::memcpy(space.data(), output.data(), output.size());
    space[random.Below(output.size())] ^=
        static_cast<std::byte>(1 << random.Below(8));
    server_->AddInput(output.size());
    std::vector<std::byte> received(sent.size());
    const absl::StatusOr<size_t> count = DecryptOne(*server_, received);
    // A larger length only makes it wait for more.
    if (count.ok()) {
      EXPECT_EQ(*count, 0u);
    } else {
      EXPECT_EQ(DecryptOne(*server_, received).status(), count.status());
      EXPECT_FALSE(EncryptOne(*server_, sent).ok());
    }
  }
}

TEST_F(TlsSessionTest, AStrangersCertificateIsRefusedByBothSides) {
  const TestAuthority other(directory_.path(), "other");
  server_ = Session(authority_.Issue("server", "ps/0"), TlsRole::kServer);
  client_ = Session(other.Issue("client", "worker/3"), TlsRole::kClient);
  const auto [server_status, client_status] = Shake(*server_, *client_);
  // The client checks first and tells the server.
  EXPECT_THAT(client_status,
              StatusIs(kUnauthenticated, HasSubstr("certificate")));
  EXPECT_THAT(
      server_status,
      StatusIs(kUnauthenticated, HasSubstr("does not accept our certificate")));
}

// A client on plain OpenSSL, for what only a foreign program would do.
class ForeignClient {
 public:
  explicit ForeignClient(SSL_CTX* context) : ssl_(SSL_new(context)) {
    SSL_set_connect_state(ssl_.get());
    BIO* in = BIO_new(BIO_s_mem());
    BIO* out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in, -1);
    SSL_set_bio(ssl_.get(), in, out);
  }

  // Runs the handshake as far as possible; returns the server's result.
  absl::Status Shake(TlsSession& server) {
    absl::StatusOr<bool> done = false;
    for (int turn = 0; turn < 10 && done.ok() && !*done; ++turn) {
      SSL_do_handshake(ssl_.get());
      Send(server);
      done = server.Handshake();
      Receive(server);
    }
    return done.status();
  }

  void Send(TlsSession& server) {
    for (;;) {
      const MutableBytes space = server.InputSpace();
      const int count = BIO_read(SSL_get_wbio(ssl_.get()), space.data(),
                                 static_cast<int>(space.size()));
      if (count <= 0) return;
      server.AddInput(static_cast<size_t>(count));
      if (static_cast<size_t>(count) < space.size()) return;
    }
  }

  void Receive(TlsSession& server) {
    while (server.has_output()) {
      const Bytes output = server.FirstOutput();
      BIO_write(SSL_get_rbio(ssl_.get()), output.data(),
                static_cast<int>(output.size()));
      server.RemoveOutput(output.size());
    }
  }

  SSL* ssl() { return ssl_.get(); }

 private:
  OpensslPtr<SSL> ssl_;
};

OpensslPtr<SSL_CTX> ForeignContext(const TlsOptions& options) {
  OpensslPtr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_load_verify_file(context.get(), options.ca_file.c_str());
  SSL_CTX_use_certificate_chain_file(context.get(),
                                     options.certificate_file.c_str());
  SSL_CTX_use_PrivateKey_file(context.get(), options.key_file.c_str(),
                              SSL_FILETYPE_PEM);
  return context;
}

class TlsForeignClientTest : public TlsSessionTest {
 protected:
  TlsForeignClientTest() {
    server_ = Session(authority_.Issue("server", "ps/0"), TlsRole::kServer);
  }
};

TEST_F(TlsForeignClientTest, AGoodOneIsAccepted) {
  const OpensslPtr<SSL_CTX> context =
      ForeignContext(authority_.Issue("client", "worker/3"));
  ForeignClient client(context.get());
  EXPECT_OK(client.Shake(*server_));
  EXPECT_EQ(server_->peer_names(), "worker/3");
}

TEST_F(TlsForeignClientTest, WithoutCertificateItIsRefused) {
  const OpensslPtr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  ForeignClient client(context.get());
  EXPECT_THAT(client.Shake(*server_),
              StatusIs(kUnauthenticated, HasSubstr("no certificate")));
  // And the client was told why.
  char byte = 0;
  EXPECT_LE(SSL_read(client.ssl(), &byte, 1), 0);
  EXPECT_EQ(OpensslReason(), "tlsv13 alert certificate required");
}

TEST_F(TlsForeignClientTest, WithAnotherCaItIsRefused) {
  const TestAuthority other(directory_.path(), "other");
  const OpensslPtr<SSL_CTX> context =
      ForeignContext(other.Issue("client", "worker/3"));
  ForeignClient client(context.get());
  EXPECT_THAT(client.Shake(*server_),
              StatusIs(kUnauthenticated, HasSubstr("not accepted")));
}

TEST_F(TlsForeignClientTest, WithAnExpiredCertificateItIsRefused) {
  CertificateOptions expired;
  expired.not_before = clock_.WallNow() - std::chrono::hours(2);
  expired.not_after = clock_.WallNow() - std::chrono::hours(1);
  const OpensslPtr<SSL_CTX> context =
      ForeignContext(authority_.Issue("client", expired));
  ForeignClient client(context.get());
  EXPECT_THAT(client.Shake(*server_),
              StatusIs(kUnauthenticated, HasSubstr("expired")));
}

TEST_F(TlsForeignClientTest, WithoutRoleItIsRefused) {
  CertificateOptions nameless;
  nameless.uris = {"https://example.org"};
  const OpensslPtr<SSL_CTX> context =
      ForeignContext(authority_.Issue("client", nameless));
  ForeignClient client(context.get());
  EXPECT_THAT(client.Shake(*server_),
              StatusIs(kUnauthenticated, HasSubstr("names no role")));
}

TEST_F(TlsForeignClientTest, WithTls12ItIsRefused) {
  const OpensslPtr<SSL_CTX> context =
      ForeignContext(authority_.Issue("client", "worker/3"));
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  ForeignClient client(context.get());
  EXPECT_THAT(client.Shake(*server_),
              StatusIs(kUnauthenticated, HasSubstr("TLS 1.3")));
}

TEST_F(TlsForeignClientTest, WithPlainTextItIsRefused) {
  for (const std::string& text :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        std::string("CAPSTAN1 and some binary header of a frame, plain"),
        std::string(100, '\0')}) {
    TlsSession server(Credentials(authority_.Issue("server", "ps/0")),
                      TlsRole::kServer, clock_.WallNow());
    const MutableBytes space = server.InputSpace();
    std::memcpy(space.data(), text.data(), text.size());
    server.AddInput(text.size());
    EXPECT_THAT(server.Handshake(),
                StatusIs(kUnauthenticated, HasSubstr("TLS 1.3")))
        << text;
  }
}

TEST_F(TlsForeignClientTest, GarbageNeverCrashes) {
  Random random(6);
  for (int i = 0; i < 300; ++i) {
    TlsSession server(Credentials(authority_.Issue("server", "ps/0")),
                      TlsRole::kServer, clock_.WallNow());
    const MutableBytes space = server.InputSpace();
    const size_t size = 1 + random.Below(1'000);
    for (size_t at = 0; at < size; ++at) {
      space[at] = static_cast<std::byte>(random.Below(256));
    }
    // Most begin like a handshake record.
    if (i % 4 != 0 && size > 6) {
      const uint8_t head[] = {22, 3, 1, 0, static_cast<uint8_t>(size / 4), 1};
      std::memcpy(space.data(), head, sizeof(head));
    }
    server.AddInput(size);
    server.Handshake().IgnoreError();
  }
}

TEST_F(TlsForeignClientTest, KeyUpdatesAreAnswered) {
  const OpensslPtr<SSL_CTX> context =
      ForeignContext(authority_.Issue("client", "worker/3"));
  ForeignClient client(context.get());
  ASSERT_OK(client.Shake(*server_));
  std::vector<std::byte> received(100);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(SSL_write(client.ssl(), "hello", 5), 5);
    client.Send(*server_);
    EXPECT_THAT(DecryptOne(*server_, received), IsOkAndHolds(5u));
    ASSERT_OK(EncryptOne(*server_, AsBytes("world")));
    client.Receive(*server_);
    char text[5] = {};
    ASSERT_EQ(SSL_read(client.ssl(), text, 5), 5);
    EXPECT_EQ(std::string(text, 5), "world");
  }
}

TEST_F(TlsForeignClientTest, AFloodOfKeyUpdatesIsBounded) {
  const OpensslPtr<SSL_CTX> context =
      ForeignContext(authority_.Issue("client", "worker/3"));
  ForeignClient client(context.get());
  ASSERT_OK(client.Shake(*server_));
  std::vector<std::byte> received(100);
  absl::Status status;
  for (int i = 0; i < 100'000 && status.ok(); ++i) {
    ASSERT_EQ(SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    ASSERT_EQ(SSL_do_handshake(client.ssl()), 1);
    client.Send(*server_);
    // Nobody consumes the answers.
    status = DecryptOne(*server_, received).status();
  }
  EXPECT_THAT(status, StatusIs(kUnavailable, HasSubstr("does not read")));
  EXPECT_LE(server_->FirstOutput().size(), TlsSession::kMaxOutputBytes);
}

}  // namespace
}  // namespace capstan
