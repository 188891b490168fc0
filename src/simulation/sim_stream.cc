#include "simulation/sim_stream.h"

#include <algorithm>
#include <utility>

#include "base/async/waiter.h"

namespace capstan {

struct SimStream::Operations {
  // Where one of the two operations sleeps, and whether it must return 0.
  struct Sleeper {
    explicit Sleeper(const Executor& executor) : waiter(executor) {}

    void Interrupt() {
      interrupted = under_way;
      waiter.Wake();
    }

    Waiter waiter;
    bool under_way = false;
    bool interrupted = false;
  };

  // Marks an operation as in progress for as long as it exists.
  class Guard {
   public:
    explicit Guard(Sleeper& sleeper) : sleeper_(sleeper) {
      sleeper_.under_way = true;
      sleeper_.interrupted = false;
    }
    ~Guard() { sleeper_.under_way = false; }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Sleeper& sleeper_;
  };

  Operations(const Executor& executor,
             std::shared_ptr<SimConnection> the_connection,
             SimConnection::End the_end)
      : connection(std::move(the_connection)),
        end(the_end),
        reader(executor),
        writer(executor) {}

  const std::shared_ptr<SimConnection> connection;
  const SimConnection::End end;
  Sleeper reader;
  Sleeper writer;
};

SimStream::SimStream(const Executor& executor,
                     std::shared_ptr<SimConnection> connection,
                     SimConnection::End end)
    : operations_(
          std::make_shared<Operations>(executor, std::move(connection), end)) {
  operations_->connection->Attach(end, &operations_->reader.waiter,
                                  &operations_->writer.waiter);
}

SimStream::~SimStream() { Close(); }

Task<absl::StatusOr<size_t>> SimStream::ReadSome(
    std::span<const MutableBytes> into) {
  return Read(operations_, into.first(std::min(into.size(), kMaxViews)));
}

Task<absl::StatusOr<size_t>> SimStream::WriteSome(std::span<const Bytes> from) {
  return Write(operations_, from.first(std::min(from.size(), kMaxViews)));
}

Task<absl::StatusOr<size_t>> SimStream::Read(
    std::shared_ptr<Operations> self, std::span<const MutableBytes> into) {
  Operations::Guard guard(self->reader);
  while (true) {
    absl::Status error = self->connection->ReadError(self->end);
    if (!error.ok()) co_return error;
    if (self->reader.interrupted) co_return size_t{0};
    const size_t size = self->connection->Read(self->end, into);
    if (size > 0) co_return size;
    co_await self->reader.waiter.Sleep();
  }
}

Task<absl::StatusOr<size_t>> SimStream::Write(std::shared_ptr<Operations> self,
                                              std::span<const Bytes> from) {
  Operations::Guard guard(self->writer);
  while (true) {
    absl::Status error = self->connection->WriteError(self->end);
    if (!error.ok()) co_return error;
    if (self->writer.interrupted) co_return size_t{0};
    const size_t size = self->connection->Write(self->end, from);
    if (size > 0) co_return size;
    co_await self->writer.waiter.Sleep();
  }
}

void SimStream::Interrupt() {
  operations_->reader.Interrupt();
  operations_->writer.Interrupt();
}

void SimStream::Close() {
  operations_->connection->Close(operations_->end);
  operations_->reader.waiter.Wake();
  operations_->writer.waiter.Wake();
}

std::string SimStream::peer_address() const {
  return operations_->connection->PeerAddress(operations_->end);
}

}  // namespace capstan
