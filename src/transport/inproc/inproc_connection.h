// What the two ends of an in-process connection share: a pipe for each
// direction, and how one end wakes the other on its own thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "base/async/task.h"
#include "base/async/waiter.h"
#include "base/bytes.h"
#include "transport/inproc/inproc_pipe.h"

namespace capstan {

// Thread-safe. The bytes are copied under its lock, so that no view is used
// after it was withdrawn.
class InprocConnection : public std::enable_shared_from_this<InprocConnection> {
 public:
  enum Side { kClient = 0, kServer = 1 };

  // Where the coroutines of one end sleep. Used on that end's executor alone.
  struct Sleepers {
    explicit Sleepers(const Executor& executor)
        : reader(executor), writer(executor) {}
    const Executor& executor() const { return reader.executor(); }

    Waiter reader;
    Waiter writer;
  };

  // Says who is to be woken at `side`: at most one, until Close(side). Before
  // that, what the other end writes waits or is buffered.
  void Attach(Side side, Sleepers* sleepers);

  // Begins to read or write for the end at `side`. Returns the result if there
  // is one at once. Otherwise the views stay in use, the caller sleeps, and
  // must call Finish; it is woken when Ready.
  using Result = absl::StatusOr<size_t>;
  std::optional<Result> StartRead(Side side,
                                  std::span<const MutableBytes> into);
  std::optional<Result> StartWrite(Side side, std::span<const Bytes> from);
  bool ReadReady(Side side) const;
  bool WriteReady(Side side) const;
  // Withdraws the views. The result is 0 if the operation is not ready.
  Result FinishRead(Side side);
  Result FinishWrite(Side side);

  // Closes the end at `side`: its views are withdrawn, it is woken no more,
  // and the other end sees that it is gone.
  void Close(Side side);

 private:
  struct End {
    Sleepers* sleepers = nullptr;
    bool closed = false;
    // A call that wakes the reader or the writer is in the executor's queue.
    bool reader_wake_posted = false;
    bool writer_wake_posted = false;
  };

  static Side Other(Side side) { return side == kClient ? kServer : kClient; }
  // The pipe that the end at `side` writes to, and the one that it reads from.
  InprocPipe& OutOf(Side side) { return pipes_[side]; }
  InprocPipe& InTo(Side side) { return pipes_[Other(side)]; }
  const InprocPipe& OutOf(Side side) const { return pipes_[side]; }
  const InprocPipe& InTo(Side side) const { return pipes_[Other(side)]; }

  // These are called with the lock held.
  bool ReadReadyLocked(Side side) const;
  bool WriteReadyLocked(Side side) const;
  Result FinishReadLocked(Side side);
  Result FinishWriteLocked(Side side);
  // Wakes one of the sleepers at `side`, on their executor.
  void WakeReader(Side side);
  void WakeWriter(Side side);
  void Wake(Side side, Waiter Sleepers::*sleeper, bool End::*wake_posted);

  mutable std::mutex mutex_;
  // Guarded by mutex_: an element per side; pipes_[side] leads away from it.
  InprocPipe pipes_[2];
  End ends_[2];
  bool same_executor_ = false;
};

}  // namespace capstan
