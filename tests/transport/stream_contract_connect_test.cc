// The contract of Network and Acceptor: how connections come about.
#include <algorithm>
#include <set>
#include <utility>

#include "base/refusal.h"
#include "testing/pattern.h"
#include "testing/status_matchers.h"
#include "testing/stream_contract.h"

namespace capstan::testing {
namespace {

using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kUnavailable;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_P(StreamContract, ConnectToNobodyIsUnavailableAndNamesTheAddress) {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Listen();
  ASSERT_OK(acceptor);
  acceptor_ = *std::move(acceptor);
  const std::string address = acceptor_->address();
  world().RunFunction(executor(Side::kServer), [this] { acceptor_->Close(); });
  const NewStream stream = world().Await(StartConnect(address));
  EXPECT_THAT(stream, StatusIs(kUnavailable, HasSubstr(address)));
  EXPECT_TRUE(IsRefusal(stream.status()));
}

TEST_P(StreamContract, ConnectToWhatIsNoAddressIsInvalid) {
  EXPECT_THAT(world().Await(StartConnect("nonsense")),
              StatusIs(kInvalidArgument, HasSubstr("nonsense")));
}

TEST_P(StreamContract, ListenOnWhatIsNoAddressIsInvalid) {
  EXPECT_THAT(Listen("nonsense"),
              StatusIs(kInvalidArgument, HasSubstr("nonsense")));
}

TEST_P(StreamContract, ListenOnTakenAddressIsUnavailableAndNamesIt) {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Listen();
  ASSERT_OK(acceptor);
  acceptor_ = *std::move(acceptor);
  EXPECT_THAT(Listen(acceptor_->address()),
              StatusIs(kUnavailable, HasSubstr(acceptor_->address())));
}

TEST_P(StreamContract, AddressIsFreeAgainAfterClose) {
  absl::StatusOr<std::unique_ptr<Acceptor>> first = Listen();
  ASSERT_OK(first);
  const std::string address = (*first)->address();
  acceptor_ = *std::move(first);
  world().RunFunction(executor(Side::kServer), [this] { acceptor_->Close(); });
  absl::StatusOr<std::unique_ptr<Acceptor>> second = Listen(address);
  ASSERT_OK(second);
  EXPECT_EQ((*second)->address(), address);
  world().RunFunction(executor(Side::kServer),
                      [&] { acceptor_ = *std::move(second); });
  std::future<NewStream> accepting = StartAccept();
  std::future<NewStream> connecting = StartConnect(address);
  NewStream server = world().Await(std::move(accepting));
  NewStream client = world().Await(std::move(connecting));
  EXPECT_OK(server);
  EXPECT_OK(client);
  world().RunFunction(executor(Side::kServer),
                      [&] { server = absl::AbortedError(""); });
  world().RunFunction(executor(Side::kClient),
                      [&] { client = absl::AbortedError(""); });
}

TEST_P(StreamContract, NewAddressesDiffer) {
  std::set<std::string> addresses;
  std::vector<std::unique_ptr<Acceptor>> acceptors;
  for (int i = 0; i < 10; ++i) {
    absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Listen();
    ASSERT_OK(acceptor);
    addresses.insert((*acceptor)->address());
    acceptors.push_back(*std::move(acceptor));
  }
  EXPECT_EQ(addresses.size(), acceptors.size());
  world().RunFunction(executor(Side::kServer), [&] { acceptors.clear(); });
}

TEST_P(StreamContract, AcceptAfterCloseIsUnavailable) {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Listen();
  ASSERT_OK(acceptor);
  acceptor_ = *std::move(acceptor);
  world().RunFunction(executor(Side::kServer), [this] { acceptor_->Close(); });
  EXPECT_THAT(world().Await(StartAccept()), StatusIs(kUnavailable));
}

TEST_P(StreamContract, CloseEndsAccept) {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Listen();
  ASSERT_OK(acceptor);
  acceptor_ = *std::move(acceptor);
  std::future<NewStream> accepting = StartAccept();
  Settle(Side::kServer);
  world().RunFunction(executor(Side::kServer), [this] { acceptor_->Close(); });
  EXPECT_THAT(world().Await(std::move(accepting)), StatusIs(kUnavailable));
}

TEST_P(StreamContract, DestroyingTheAcceptorEndsAccept) {
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Listen();
  ASSERT_OK(acceptor);
  acceptor_ = *std::move(acceptor);
  std::future<NewStream> accepting = StartAccept();
  Settle(Side::kServer);
  world().RunFunction(executor(Side::kServer), [this] { acceptor_.reset(); });
  EXPECT_THAT(world().Await(std::move(accepting)), StatusIs(kUnavailable));
}

TEST_P(StreamContract, StreamsOutliveTheAcceptor) {
  Connect();
  world().RunFunction(executor(Side::kServer), [this] { acceptor_.reset(); });
  const std::vector<std::byte> sent = Pattern(1, 100);
  WriteAll(Side::kClient, sent);
  std::vector<std::byte> received(sent.size());
  ReadAll(Side::kServer, received);
  EXPECT_EQ(received, sent);
}

TEST_P(StreamContract, PeersHaveAddresses) {
  Connect();
  EXPECT_EQ(stream(Side::kClient).peer_address(), acceptor_->address());
  EXPECT_THAT(stream(Side::kServer).peer_address(), Not(::testing::IsEmpty()));
}

TEST_P(StreamContract, ManyConnectionsCarryTheirOwnBytes) {
  constexpr size_t kConnections = 40;
  absl::StatusOr<std::unique_ptr<Acceptor>> acceptor = Listen();
  ASSERT_OK(acceptor);
  acceptor_ = *std::move(acceptor);
  std::vector<std::future<NewStream>> connecting;
  for (size_t i = 0; i < kConnections; ++i) {
    connecting.push_back(StartConnect(acceptor_->address()));
  }
  std::vector<std::unique_ptr<Stream>> servers;
  std::vector<std::unique_ptr<Stream>> clients;
  for (size_t i = 0; i < kConnections; ++i) {
    NewStream server = world().Await(StartAccept());
    ASSERT_OK(server);
    servers.push_back(*std::move(server));
  }
  for (std::future<NewStream>& connection : connecting) {
    NewStream client = world().Await(std::move(connection));
    ASSERT_OK(client);
    clients.push_back(*std::move(client));
  }
  std::vector<std::byte> numbers(kConnections);
  for (size_t i = 0; i < kConnections; ++i) {
    numbers[i] = static_cast<std::byte>(i);
    const Bytes number = Bytes(numbers).subspan(i, 1);
    EXPECT_OK(
        world().Run(executor(Side::kClient), WriteWhole(*clients[i], number)));
  }
  std::vector<std::byte> received(kConnections);
  for (size_t i = 0; i < kConnections; ++i) {
    const MutableBytes number = MutableBytes(received).subspan(i, 1);
    EXPECT_OK(
        world().Run(executor(Side::kServer), ReadWhole(*servers[i], number)));
  }
  // In whatever order they were accepted.
  std::sort(received.begin(), received.end());
  EXPECT_EQ(received, numbers);
  world().RunFunction(executor(Side::kServer), [&] { servers.clear(); });
  world().RunFunction(executor(Side::kClient), [&] { clients.clear(); });
}

}  // namespace
}  // namespace capstan::testing
