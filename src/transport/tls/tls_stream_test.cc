// What TLS adds to the contract of Stream (stream_contract_test.cc). Runs on
// one thread in virtual time.
#include "transport/tls/tls_stream.h"

#include <gtest/gtest.h>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "simulation/sim_clock.h"
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/stream_contract.h"
#include "testing/stream_pair.h"
#include "testing/temp_dir.h"
#include "testing/test_certificates.h"
#include "transport/tls/tls_core.h"
#include "transport/tls/tls_network.h"

namespace capstan {
namespace {

using absl::StatusCode::kUnauthenticated;
using absl::StatusCode::kUnavailable;
using ::testing::AllOf;
using testing::CertificateOptions;
using ::testing::HasSubstr;
using testing::IsPattern;
using testing::NewInprocNetwork;
using testing::NewStreamPair;
using testing::Pattern;
using testing::ReadWhole;
using testing::StatusIs;
using testing::StreamPair;
using testing::TempDir;
using testing::TestAuthority;
using testing::WriteWhole;

Task<absl::StatusOr<std::unique_ptr<Stream>>> AcceptOne(Acceptor& acceptor,
                                                        Executor executor) {
  co_return co_await acceptor.Accept(executor);
}

class TlsStreamTest : public ::testing::Test {
 protected:
  std::unique_ptr<TlsContext> Context(const TlsOptions& options) {
    return TlsContext::Load(clock_, options).value();
  }

  // TLS streams over plain ones, which are kept so that tests can cut them.
  void MakePair() {
    StreamPair inner = NewStreamPair(executor_, executor_);
    inner_server_ = inner.server.get();
    inner_client_ = inner.client.get();
    server_ = std::make_unique<TlsStream>(
        executor_, *server_context_, TlsRole::kServer, std::move(inner.server));
    client_ = std::make_unique<TlsStream>(
        executor_, *client_context_, TlsRole::kClient, std::move(inner.client));
  }

  // Runs until `done`, advancing time when there is nothing else to do.
  void RunUntil(const std::function<bool()>& done) {
    while (!done()) {
      context_.restart();
      if (context_.poll() == 0 && !clock_.RunNext()) {
        FAIL() << "waits in vain";
      }
    }
  }
  // Runs until nothing more happens without advancing time.
  void Settle() {
    do {
      context_.restart();
    } while (context_.poll() > 0);
  }

  template <typename T>
  T Run(Task<T> task) {
    std::optional<T> result;
    asio::co_spawn(executor_, std::move(task),
                   [&](const std::exception_ptr&, T value) {
                     result.emplace(std::move(value));
                   });
    RunUntil([&] { return result.has_value(); });
    return *std::move(result);
  }

  absl::Status Read(Stream& stream, MutableBytes into) {
    return Run(ReadWhole(stream, into));
  }
  absl::Status Write(Stream& stream, Bytes from) {
    return Run(WriteWhole(stream, from));
  }
  void ExpectExchange(Stream& a, Stream& b) {
    const std::vector<std::byte> sent = Pattern(1, 1'000);
    std::vector<std::byte> received(sent.size());
    EXPECT_OK(Write(a, sent));
    EXPECT_OK(Read(b, received));
    EXPECT_EQ(received, sent);
  }

  SimClock clock_{std::chrono::system_clock::now()};
  asio::io_context context_{1};
  const Executor executor_ = context_.get_executor();
  const TempDir directory_;
  const TestAuthority authority_{directory_.path()};
  std::unique_ptr<TlsContext> server_context_ =
      Context(authority_.Issue("server", "ps/0"));
  std::unique_ptr<TlsContext> client_context_ =
      Context(authority_.Issue("client", "worker/3"));
  Stream* inner_server_ = nullptr;
  Stream* inner_client_ = nullptr;
  std::unique_ptr<TlsStream> server_;
  std::unique_ptr<TlsStream> client_;
};

TEST_F(TlsStreamTest, ShowsThePeersNames) {
  MakePair();
  EXPECT_EQ(server_->peer_certificate(), "");
  EXPECT_OK(Run(client_->Handshake(kNever)));
  EXPECT_EQ(client_->peer_certificate(), "ps/0");
  ExpectExchange(*client_, *server_);
  EXPECT_EQ(server_->peer_certificate(), "worker/3");
  EXPECT_EQ(client_->peer_address(), "inproc:server");
}

TEST_F(TlsStreamTest, WhatPassesBelowIsNotPlainText) {
  StreamPair inner = NewStreamPair(executor_, executor_);
  client_ = std::make_unique<TlsStream>(
      executor_, *client_context_, TlsRole::kClient, std::move(inner.client));
  std::vector<std::byte> first(3);
  EXPECT_OK(Read(*inner.server, first));
  EXPECT_EQ(first[0], std::byte{22});  // a handshake record
}

TEST_F(TlsStreamTest, AnOrderlyEndIsToldFromACut) {
  MakePair();
  ExpectExchange(*client_, *server_);
  std::vector<std::byte> room(1);
  client_->Close();
  EXPECT_THAT(Read(*server_, room),
              StatusIs(kUnavailable, HasSubstr("the peer closed")));

  MakePair();
  ExpectExchange(*client_, *server_);
  inner_client_->Close();
  EXPECT_THAT(Read(*server_, room),
              StatusIs(kUnavailable, HasSubstr("cut off")));
}

TEST_F(TlsStreamTest, ACutAfterDataIsReportedAfterTheData) {
  MakePair();
  ExpectExchange(*server_, *client_);
  const std::vector<std::byte> sent = Pattern(2, 20'000);
  EXPECT_OK(Write(*client_, sent));
  inner_client_->Close();
  std::vector<std::byte> received(sent.size());
  EXPECT_OK(Read(*server_, received));
  EXPECT_EQ(received, sent);
  EXPECT_THAT(Read(*server_, received),
              StatusIs(kUnavailable, HasSubstr("cut off")));
}

TEST_F(TlsStreamTest, ACutInTheHandshakeIsReported) {
  MakePair();
  inner_client_->Close();
  std::vector<std::byte> room(1);
  EXPECT_THAT(Read(*server_, room),
              StatusIs(kUnavailable, HasSubstr("during the TLS handshake")));
  EXPECT_THAT(Write(*server_, room),
              StatusIs(kUnavailable, HasSubstr("during the TLS handshake")));
}

TEST_F(TlsStreamTest, TheHandshakeHasADeadline) {
  StreamPair inner = NewStreamPair(executor_, executor_);
  client_ = std::make_unique<TlsStream>(
      executor_, *client_context_, TlsRole::kClient, std::move(inner.client));
  const MonotonicTime deadline = clock_.Now() + std::chrono::seconds(5);
  EXPECT_THAT(Run(client_->Handshake(deadline)),
              StatusIs(kUnavailable, HasSubstr("no TLS handshake")));
  EXPECT_EQ(clock_.Now(), deadline);
  // The stream ends for the peer too, once it has read what was sent.
  std::vector<std::byte> room(10'000);
  EXPECT_THAT(Read(*inner.server, room), StatusIs(kUnavailable));
}

TEST_F(TlsStreamTest, OperationsThatWaitForTheHandshakeCanBeInterrupted) {
  StreamPair inner = NewStreamPair(executor_, executor_);
  client_ = std::make_unique<TlsStream>(
      executor_, *client_context_, TlsRole::kClient, std::move(inner.client));
  std::vector<std::byte> bytes(10);
  const MutableBytes into = bytes;
  const Bytes from = bytes;
  int ended = 0;
  const auto end = [&](const std::exception_ptr&,
                       const absl::StatusOr<size_t>& count) {
    EXPECT_OK(count);
    EXPECT_EQ(*count, 0u);
    ++ended;
  };
  asio::co_spawn(executor_, client_->ReadSome({&into, 1}), end);
  asio::co_spawn(executor_, client_->WriteSome({&from, 1}), end);
  Settle();
  EXPECT_EQ(ended, 0);
  client_->Interrupt();
  Settle();
  EXPECT_EQ(ended, 2);
  // The handshake is undisturbed.
  server_ = std::make_unique<TlsStream>(
      executor_, *server_context_, TlsRole::kServer, std::move(inner.server));
  ExpectExchange(*client_, *server_);
}

TEST_F(TlsStreamTest, GarbageIsAnsweredByAnAlert) {
  StreamPair inner = NewStreamPair(executor_, executor_);
  server_ = std::make_unique<TlsStream>(
      executor_, *server_context_, TlsRole::kServer, std::move(inner.server));
  // A handshake record with other content.
  const std::string garbage("\x16\x03\x01\x00\x05hello", 10);
  EXPECT_OK(Write(*inner.client, AsBytes(garbage)));
  std::vector<std::byte> room(1);
  EXPECT_THAT(Read(*server_, room), StatusIs(kUnavailable, HasSubstr("TLS")));
  server_ = nullptr;
  std::vector<std::byte> alert(7);
  EXPECT_OK(Read(*inner.client, alert));
  EXPECT_EQ(alert[0], std::byte{21});
  // The server waits for the peer to read it, but not forever.
  const MonotonicTime before = clock_.Now();
  EXPECT_THAT(Read(*inner.client, room), StatusIs(kUnavailable));
  EXPECT_EQ(clock_.Now(), before + TlsCore::kLingerTime);
}

TEST_F(TlsStreamTest, ARefusedClientLearnsWhy) {
  // The client trusts the server, but not the other way round.
  const TestAuthority other(directory_.path(), "other");
  TlsOptions options = other.Issue("stranger", "worker/3");
  options.ca_file = directory_ / "both.pem";
  std::ofstream(options.ca_file) << std::ifstream(authority_.ca_file()).rdbuf()
                                 << std::ifstream(other.ca_file()).rdbuf();
  client_context_ = Context(options);
  MakePair();
  EXPECT_OK(Run(client_->Handshake(kNever)));
  std::vector<std::byte> room(1);
  EXPECT_THAT(Read(*server_, room),
              StatusIs(kUnauthenticated,
                       HasSubstr("the peer's certificate is not accepted")));
  server_ = nullptr;
  EXPECT_THAT(
      Read(*client_, room),
      StatusIs(kUnauthenticated, HasSubstr("does not accept our certificate")));
}

TEST_F(TlsStreamTest, CloseWaitsForASlowReaderButNotForEver) {
  MakePair();
  ExpectExchange(*client_, *server_);
  // Fill all buffers, so that the last write stays pending.
  const std::vector<std::byte> sent = Pattern(3, 4 << 20);
  std::optional<absl::Status> written;
  asio::co_spawn(executor_, WriteWhole(*client_, sent),
                 [&](const std::exception_ptr&, absl::Status status) {
                   written = std::move(status);
                 });
  Settle();
  EXPECT_FALSE(written.has_value());
  client_->Close();
  Settle();
  EXPECT_THAT(written.value(), StatusIs(kUnavailable));
  client_ = nullptr;
  const MonotonicTime before = clock_.Now();
  RunUntil([&] { return clock_.Now() >= before + TlsCore::kLingerTime; });
  Settle();
  // What had been written to the underlying stream by then arrives; the rest
  // does not.
  std::vector<std::byte> received(sent.size());
  EXPECT_THAT(Read(*server_, received),
              StatusIs(kUnavailable, HasSubstr("cut off")));
}

class TlsNetworkTest : public TlsStreamTest {
 protected:
  using NewStream = absl::StatusOr<std::unique_ptr<Stream>>;

  void Listen() {
    acceptor_ = server_network_.Listen(executor_, "inproc:").value();
  }

  // Connects and accepts.
  std::pair<NewStream, NewStream> ConnectBoth() {
    std::optional<NewStream> accepted;
    asio::co_spawn(executor_, AcceptOne(*acceptor_, executor_),
                   [&](const std::exception_ptr&, NewStream stream) {
                     accepted = std::move(stream);
                   });
    NewStream connected =
        Run(client_network_.Connect(executor_, acceptor_->address(),
                                    clock_.Now() + std::chrono::seconds(5)));
    RunUntil([&] { return accepted.has_value(); });
    return {*std::move(accepted), std::move(connected)};
  }

  std::unique_ptr<Network> inner_ = NewInprocNetwork();
  TlsNetwork server_network_{*inner_, *server_context_};
  TlsNetwork client_network_{*inner_, *client_context_};
  std::unique_ptr<Acceptor> acceptor_;
};

TEST_F(TlsNetworkTest, ASilentClientHoldsUpNobody) {
  Listen();
  NewStream silent =
      Run(inner_->Connect(executor_, acceptor_->address(), kNever));
  ASSERT_OK(silent);
  NewStream held = Run(AcceptOne(*acceptor_, executor_));
  ASSERT_OK(held);
  auto [server, client] = ConnectBoth();
  ASSERT_OK(server);
  ASSERT_OK(client);
  ExpectExchange(**server, **client);
}

TEST_F(TlsNetworkTest, ConnectToASilentServerHasADeadline) {
  const std::unique_ptr<Acceptor> silent =
      inner_->Listen(executor_, "inproc:").value();
  const MonotonicTime deadline = clock_.Now() + std::chrono::seconds(5);
  EXPECT_THAT(
      Run(client_network_.Connect(executor_, silent->address(), deadline)),
      StatusIs(kUnavailable, HasSubstr(silent->address())));
  EXPECT_EQ(clock_.Now(), deadline);
}

TEST_F(TlsNetworkTest, ReloadConcernsNewConnectionsOnly) {
  Listen();
  auto [server, client] = ConnectBoth();
  ASSERT_OK(client);
  EXPECT_EQ((*client)->peer_certificate(), "ps/0");
  authority_.Issue("server", "ps/7");
  ASSERT_OK(server_context_->Reload());
  auto [new_server, new_client] = ConnectBoth();
  ASSERT_OK(new_client);
  EXPECT_EQ((*new_client)->peer_certificate(), "ps/7");
  ExpectExchange(**server, **client);
  EXPECT_EQ((*client)->peer_certificate(), "ps/0");
}

TEST_F(TlsNetworkTest, ExpiryInMidRunIsCuredByReload) {
  Listen();
  auto [server, client] = ConnectBoth();
  ASSERT_OK(client);
  clock_.AdvanceTo(clock_.Now() + std::chrono::hours(24));
  // Existing connections continue.
  ExpectExchange(**server, **client);
  {
    const auto [late_server, late_client] = ConnectBoth();
    EXPECT_THAT(late_client, StatusIs(kUnauthenticated,
                                      AllOf(HasSubstr(acceptor_->address()),
                                            HasSubstr("expired"))));
  }
  EXPECT_THAT(server_context_->Reload(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  CertificateOptions renewed;
  renewed.not_after = clock_.WallNow() + std::chrono::hours(24);
  authority_.Issue("server", renewed);
  authority_.Issue("client", renewed);
  ASSERT_OK(server_context_->Reload());
  ASSERT_OK(client_context_->Reload());
  auto [new_server, new_client] = ConnectBoth();
  ASSERT_OK(new_client);
  ExpectExchange(**new_server, **new_client);
}

}  // namespace
}  // namespace capstan
