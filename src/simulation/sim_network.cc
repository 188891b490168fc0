#include "simulation/sim_network.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/async/waiter.h"
#include "base/refusal.h"
#include "base/status.h"
#include "simulation/sim_connection.h"
#include "simulation/sim_stream.h"

namespace capstan {
namespace {

class SimAcceptor final : public Acceptor {
 public:
  SimAcceptor(SimFabric& fabric, const Executor& executor)
      : fabric_(fabric), waiter_(executor) {}
  ~SimAcceptor() override {
    if (!closed_) fabric_.Unlisten(id_);
  }

  absl::Status Listen(uint32_t node, const std::string& address) {
    absl::StatusOr<SimFabric::ListenerId> id =
        fabric_.Listen(node, address, &waiter_);
    if (!id.ok()) return id.status();
    id_ = *id;
    address_ = fabric_.ListenAddress(id_);
    return absl::OkStatus();
  }

  Task<absl::StatusOr<std::unique_ptr<Stream>>> Accept(
      const Executor& executor) override {
    const Executor owner = executor;
    std::shared_ptr<SimConnection> connection;
    while (!closed_) {
      connection = fabric_.TakeConnection(id_);
      if (connection != nullptr) break;
      co_await waiter_.Sleep();
    }
    if (connection == nullptr) {
      co_return absl::UnavailableError(
          absl::StrCat(address_, " no longer listens"));
    }
    co_return std::make_unique<SimStream>(owner, std::move(connection),
                                          SimConnection::kServer);
  }

  std::string address() const override { return address_; }

  void Close() override {
    if (std::exchange(closed_, true)) return;
    fabric_.Unlisten(id_);
    waiter_.Wake();
  }

 private:
  SimFabric& fabric_;
  Waiter waiter_;
  SimFabric::ListenerId id_ = 0;
  std::string address_;
  bool closed_ = false;
};

// The client's end until the answer arrives. Closes the connection unless it is
// released.
class Connecting {
 public:
  Connecting(SimFabric& fabric, const Executor& executor,
             std::shared_ptr<SimConnection> connection, MonotonicTime deadline)
      : clock_(fabric.clock()),
        waiter_(executor),
        connection_(std::move(connection)) {
    connection_->Attach(SimConnection::kClient, &waiter_, nullptr);
    if (deadline == kNever) return;
    event_ = clock_.Schedule(deadline, [this] {
      late_ = true;
      waiter_.Wake();
    });
  }
  ~Connecting() {
    clock_.Cancel(event_);
    if (connection_ != nullptr) connection_->Close(SimConnection::kClient);
  }
  Connecting(const Connecting&) = delete;
  Connecting& operator=(const Connecting&) = delete;

  // Waits for the answer; returns why connecting failed, or OK.
  Task<absl::Status> Answer() {
    while (connection_->connecting(SimConnection::kClient)) {
      if (!connection_->ReadError(SimConnection::kClient).ok()) {
        co_return connection_->refused()
            ? Refusal("connection refused")
            : absl::UnavailableError("connection reset");
      }
      if (late_) co_return absl::UnavailableError("no answer");
      co_await waiter_.Sleep();
    }
    co_return absl::OkStatus();
  }

  std::shared_ptr<SimConnection> Release() {
    connection_->Attach(SimConnection::kClient, nullptr, nullptr);
    return std::exchange(connection_, nullptr);
  }

 private:
  SimClock& clock_;
  Waiter waiter_;
  std::shared_ptr<SimConnection> connection_;
  SimClock::EventId event_;
  bool late_ = false;
};

}  // namespace

Task<absl::StatusOr<std::unique_ptr<Stream>>> SimNetwork::Connect(
    Executor executor, std::string address, MonotonicTime deadline) {
  const std::string context = absl::StrCat("cannot connect to ", address);
  absl::StatusOr<SimFabric::Address> parsed = SimFabric::ParseAddress(address);
  if (!parsed.ok()) co_return parsed.status();
  absl::StatusOr<std::shared_ptr<SimConnection>> connection =
      fabric_.Connect(node_, *parsed);
  if (!connection.ok()) {
    co_return WithContext(connection.status(), context);
  }
  Connecting connecting(fabric_, executor, *std::move(connection), deadline);
  absl::Status answer = co_await connecting.Answer();
  if (!answer.ok()) co_return WithContext(answer, context);
  co_return std::make_unique<SimStream>(executor, connecting.Release(),
                                        SimConnection::kClient);
}

absl::StatusOr<std::unique_ptr<Acceptor>> SimNetwork::Listen(
    const Executor& executor, const std::string& address) {
  auto acceptor = std::make_unique<SimAcceptor>(fabric_, executor);
  absl::Status status = acceptor->Listen(node_, address);
  if (!status.ok()) return status;
  return acceptor;
}

}  // namespace capstan
