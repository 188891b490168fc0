// What the two ends of an in-process connection share: a pipe for each
// direction, and a way to wake the other end on its own thread.
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

// Thread-safe. Copies bytes under its lock, so that no view is used after it
// was withdrawn.
class InprocConnection : public std::enable_shared_from_this<InprocConnection> {
 public:
  enum Side { kClient = 0, kServer = 1 };

  // Where the coroutines of one end sleep. Used on that end's executor only.
  struct Sleepers {
    explicit Sleepers(const Executor& executor)
        : reader(executor), writer(executor) {}
    const Executor& executor() const { return reader.executor(); }

    Waiter reader;
    Waiter writer;
  };

  // Sets the sleepers to wake at `side`, once, until Close(side). Before this
  // call, what the other end writes waits or is buffered.
  void Attach(Side side, Sleepers* sleepers);

  // Starts a read or write for the end at `side`. Returns the result if it is
  // available at once. Otherwise the views stay in use: the caller sleeps, is
  // woken when the operation is ready (ReadReady, WriteReady), and must call
  // FinishRead or FinishWrite.
  using Result = absl::StatusOr<size_t>;
  std::optional<Result> StartRead(Side side,
                                  std::span<const MutableBytes> into);
  std::optional<Result> StartWrite(Side side, std::span<const Bytes> from);
  bool ReadReady(Side side) const;
  bool WriteReady(Side side) const;
  // Withdraws the views. Returns 0 if the operation is not ready.
  Result FinishRead(Side side);
  Result FinishWrite(Side side);

  // Closes the end at `side`: withdraws its views, stops waking it, and lets
  // the other end see the close.
  void Close(Side side);

 private:
  struct End {
    Sleepers* sleepers = nullptr;
    bool closed = false;
    // A wake-up of the reader or the writer is in the executor's queue.
    bool reader_wake_posted = false;
    bool writer_wake_posted = false;
  };

  static Side Other(Side side) { return side == kClient ? kServer : kClient; }
  // The pipe that the end at `side` writes to, and the one it reads from.
  InprocPipe& OutOf(Side side) { return pipes_[side]; }
  InprocPipe& InTo(Side side) { return pipes_[Other(side)]; }
  const InprocPipe& OutOf(Side side) const { return pipes_[side]; }
  const InprocPipe& InTo(Side side) const { return pipes_[Other(side)]; }

  // Call with the lock held.
  bool ReadReadyLocked(Side side) const;
  bool WriteReadyLocked(Side side) const;
  Result FinishReadLocked(Side side);
  Result FinishWriteLocked(Side side);
  // Wakes one of the sleepers at `side`, on their executor.
  void WakeReader(Side side);
  void WakeWriter(Side side);
  void Wake(Side side, Waiter Sleepers::*sleeper, bool End::*wake_posted);

  mutable std::mutex mutex_;
  // Guarded by mutex_. One element per side; pipes_[side] carries what that
  // side writes.
  InprocPipe pipes_[2];
  End ends_[2];
  bool same_executor_ = false;
};

}  // namespace capstan
