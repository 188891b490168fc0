#include "transport/inproc/inproc_acceptor.h"

#include <asio/post.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "transport/inproc/inproc_stream.h"

namespace capstan {

InprocBacklog::InprocBacklog(const Executor& executor, std::string address)
    : address_(std::move(address)),
      accepting_(executor),
      shutdown_(executor, [this] { Shut(); }) {}

bool InprocBacklog::Add(std::shared_ptr<InprocConnection> connection) {
  std::lock_guard lock(mutex_);
  if (closed_ || waiting_.size() >= kMaxWaiting) return false;
  waiting_.push_back(std::move(connection));
  if (wake_posted_) return true;
  wake_posted_ = true;
  asio::post(accepting_.executor(), [self = shared_from_this()] {
    {
      std::lock_guard relock(self->mutex_);
      self->wake_posted_ = false;
    }
    self->accepting_.Wake();
  });
  return true;
}

Task<absl::StatusOr<std::unique_ptr<Stream>>> InprocBacklog::Next(
    std::shared_ptr<InprocBacklog> self, Executor executor) {
  std::shared_ptr<InprocConnection> connection = self->Take();
  while (connection == nullptr) {
    if (self->closed()) {
      co_return absl::UnavailableError(
          absl::StrCat(self->address_, " is closed"));
    }
    co_await self->accepting_.Sleep();
    connection = self->Take();
  }
  std::string peer = absl::StrCat(self->address_, "#", ++self->accepted_);
  co_return std::make_unique<InprocStream>(executor, std::move(connection),
                                           InprocConnection::kServer,
                                           std::move(peer));
}

void InprocBacklog::Close() {
  Shut();
  accepting_.Wake();
}

std::shared_ptr<InprocConnection> InprocBacklog::Take() {
  std::lock_guard lock(mutex_);
  if (waiting_.empty()) return nullptr;
  std::shared_ptr<InprocConnection> connection = std::move(waiting_.front());
  waiting_.pop_front();
  return connection;
}

bool InprocBacklog::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

void InprocBacklog::Shut() {
  std::deque<std::shared_ptr<InprocConnection>> refused;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    refused.swap(waiting_);
  }
  for (const std::shared_ptr<InprocConnection>& connection : refused) {
    connection->Close(InprocConnection::kServer);
  }
}

InprocAcceptor::InprocAcceptor(std::shared_ptr<InprocBacklog> backlog,
                               std::function<void()> on_close)
    : backlog_(std::move(backlog)), on_close_(std::move(on_close)) {}

InprocAcceptor::~InprocAcceptor() { Close(); }

Task<absl::StatusOr<std::unique_ptr<Stream>>> InprocAcceptor::Accept(
    const Executor& executor) {
  return InprocBacklog::Next(backlog_, executor);
}

std::string InprocAcceptor::address() const { return backlog_->address(); }

void InprocAcceptor::Close() {
  backlog_->Close();
  if (on_close_) std::exchange(on_close_, nullptr)();
}

}  // namespace capstan
