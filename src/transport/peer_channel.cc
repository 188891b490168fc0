#include "transport/peer_channel.h"

#include <algorithm>
#include <array>
#include <list>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/refusal.h"
#include "base/status.h"
#include "transport/call_state.h"
#include "transport/client_connection.h"
#include "transport/deadline_queue.h"
#include "transport/handshake.h"
#include "transport/turnstile.h"

namespace capstan {
namespace {

// How long Close waits for the goodbye to be written.
constexpr Duration kGoodbyeTimeout = std::chrono::seconds(1);

// Whether another attempt cannot fix the error.
bool IsPermanent(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
      return false;
    default:
      return true;
  }
}

// `duration` after `time`; kNever instead of an overflow.
MonotonicTime After(MonotonicTime time, Duration duration) {
  return duration < kNever - time ? time + duration : kNever;
}

// The channel itself; shared by its handle and the outstanding calls.
class ChannelCore : public std::enable_shared_from_this<ChannelCore> {
 public:
  ChannelCore(Clock& clock, Network& network, Logger& logger, Random random,
              const Executor& executor, ChannelOptions options)
      : clock_(clock),
        network_(network),
        logger_(logger),
        random_(random),
        executor_(executor),
        options_(std::move(options)),
        deadlines_(clock, executor),
        turnstile_(options_.bytes_in_flight) {
    for (size_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i].timer = clock.NewTimer(executor);
      lanes_[i].backoff =
          std::make_unique<Backoff>(options_.backoff, random_.Fork(i));
    }
  }

  Task<absl::StatusOr<Reply>> Call(Method method, std::string body,
                                   std::vector<Bytes> attachments,
                                   CallOptions options);
  void Shutdown();
  Task<> Close();

  std::string peer() const {
    return options_.expected_task.empty()
               ? options_.address
               : absl::StrCat(options_.expected_task, " at ", options_.address);
  }

 private:
  struct LaneState {
    std::shared_ptr<ClientConnection> connection;
    MonotonicTime connected;
    std::list<CallState*> waiting;  // calls that need a connection
    bool connecting = false;
    Stream* greeting = nullptr;    // in its handshake
    std::unique_ptr<Timer> timer;  // of the back-off
    std::unique_ptr<Backoff> backoff;
    absl::Status last_error;
  };

  // The lane's connection if both it and the small lane's are usable now;
  // otherwise null.
  std::shared_ptr<ClientConnection> UsableConnection(Lane lane) const;
  // Waits until UsableConnection is not null and returns it; null if `state` is
  // ended first.
  Task<std::shared_ptr<ClientConnection>> Connect(Lane lane, CallState& state);
  // Waits until the lane is connected; null if `state` is ended first, or if
  // the small lane is lost while a bulk lane waits.
  Task<std::shared_ptr<ClientConnection>> Connected(Lane lane,
                                                    CallState& state);
  static Task<> ConnectLoop(std::shared_ptr<ChannelCore> self, Lane lane);
  Task<absl::Status> ConnectOnce(Lane lane);
  void OnConnectionEnd(Lane lane);
  // When bytes of large attachments last moved on the lane; at least `start`.
  MonotonicTime LastMoved(Lane lane, MonotonicTime start) const;
  // Why a call that began at `start` timed out.
  absl::Status DescribeTimeout(Lane lane, MonotonicTime start, Duration timeout,
                               Duration limit) const;
  // Prefixes the message with the peer's name and marks the peer as the
  // culprit.
  absl::Status Blame(const absl::Status& status) const;

  LaneState& lane_state(Lane lane) { return lanes_[static_cast<size_t>(lane)]; }
  const LaneState& lane_state(Lane lane) const {
    return lanes_[static_cast<size_t>(lane)];
  }

  Clock& clock_;
  Network& network_;
  Logger& logger_;
  Random random_;
  const Executor executor_;
  const ChannelOptions options_;
  DeadlineQueue deadlines_;
  Turnstile turnstile_;
  std::array<LaneState, 2> lanes_;
  uint64_t session_ = 0;
  bool closed_ = false;
};

Task<absl::StatusOr<Reply>> ChannelCore::Call(Method method, std::string body,
                                              std::vector<Bytes> attachments,
                                              CallOptions options) {
  std::shared_ptr<ChannelCore> self = shared_from_this();
  const Duration timeout = options.timeout;
  const Duration limit = options.limit;
  if (timeout <= Duration::zero() || limit <= Duration::zero()) {
    co_return Blame(absl::DeadlineExceededError("the call had no time left"));
  }
  if (options.cancellation != nullptr && options.cancellation->cancelled()) {
    co_return Blame(absl::CancelledError("the call was cancelled"));
  }
  if (attachments.size() > options_.limits.attachment_count) {
    co_return absl::InvalidArgumentError(absl::StrCat(
        "a request with ", attachments.size(), " attachments; the limit is ",
        options_.limits.attachment_count));
  }
  if (body.size() > options_.limits.body_bytes) {
    co_return absl::InvalidArgumentError(
        absl::StrCat("a request with a body of ", body.size(),
                     " bytes; the limit is ", options_.limits.body_bytes));
  }
  ClientRequest request;
  request.method = method;
  request.reply_limit = options.receive_into ? TotalSize(*options.receive_into)
                                             : options.reply_limit;
  const uint64_t bytes = TotalSize(attachments);
  if (bytes > options_.limits.attachment_bytes) {
    co_return absl::InvalidArgumentError(absl::StrCat(
        "a request with ", bytes, " bytes of attachments; the limit is ",
        options_.limits.attachment_bytes));
  }
  // An answer cannot exceed the limit, even if the caller would accept more.
  const uint64_t cost =
      bytes + body.size() +
      std::min(request.reply_limit, options_.limits.attachment_bytes);
  const bool large = bytes > kInlineBytes || request.reply_limit > kInlineBytes;
  const Lane lane = large ? Lane::kBulk : Lane::kSmall;
  request.body = std::move(body);
  request.attachments = std::move(attachments);
  request.receive_into = std::move(options.receive_into);

  CallState state(executor_);
  const MonotonicTime start = clock_.Now();
  const auto deadline = [this, lane, start, timeout, limit] {
    return std::min(After(LastMoved(lane, start), timeout),
                    After(start, limit));
  };
  DeadlineQueue::Registration timer(
      deadlines_, deadline(),
      [this, &timer, &state, &deadline, lane, start, timeout, limit] {
        const MonotonicTime next = deadline();
        if (clock_.Now() < next) {
          timer.Postpone(next);
        } else {
          state.End(DescribeTimeout(lane, start, timeout, limit));
        }
      });
  const Cancellation::Registration cancellation(options.cancellation, [&state] {
    state.End(absl::CancelledError("the call was cancelled"));
  });
  Turnstile::Passage passage(turnstile_, state, cost);
  while (!passage.granted() && !state.ended()) co_await state.Sleep();
  if (state.ended()) co_return Blame(state.status());
  std::shared_ptr<ClientConnection> connection = UsableConnection(lane);
  if (connection == nullptr) connection = co_await Connect(lane, state);
  if (connection == nullptr) co_return Blame(state.status());
  request.deadline = deadline();
  absl::StatusOr<Reply> reply = co_await connection->Call(state, request);
  if (!reply.ok()) co_return Blame(reply.status());
  co_return reply;
}

std::shared_ptr<ClientConnection> ChannelCore::UsableConnection(
    Lane lane) const {
  for (const Lane needed : {Lane::kSmall, lane}) {
    const auto& connection = lane_state(needed).connection;
    if (closed_ || connection == nullptr || !connection->usable()) {
      return nullptr;
    }
  }
  return lane_state(lane).connection;
}

Task<std::shared_ptr<ClientConnection>> ChannelCore::Connect(Lane lane,
                                                             CallState& state) {
  // The bulk lane has no keepalive of its own, so connect the small one first,
  // and again if it is lost before the bulk lane is connected.
  std::shared_ptr<ClientConnection> connection;
  while (connection == nullptr && !state.ended()) {
    connection = co_await Connected(Lane::kSmall, state);
    if (lane == Lane::kBulk && connection != nullptr) {
      connection = co_await Connected(lane, state);
    }
  }
  co_return connection;
}

Task<std::shared_ptr<ClientConnection>> ChannelCore::Connected(
    Lane lane, CallState& state) {
  LaneState& mine = lane_state(lane);
  while (!state.ended()) {
    if (closed_) {
      state.End(absl::CancelledError("the channel was closed"));
      break;
    }
    // The peer identifies the bulk lane by the session of the small one.
    if (lane == Lane::kBulk && UsableConnection(Lane::kSmall) == nullptr) break;
    if (mine.connection != nullptr && mine.connection->usable()) {
      co_return mine.connection;
    }
    const auto place = mine.waiting.insert(mine.waiting.end(), &state);
    const absl::Cleanup leave = [&mine, place] { mine.waiting.erase(place); };
    if (!mine.connecting) {
      mine.connecting = true;
      Spawn(executor_, ConnectLoop(shared_from_this(), lane));
      // A peer in this process may have answered already.
      if (!mine.connecting) continue;
    }
    co_await state.Sleep();
  }
  co_return nullptr;
}

Task<> ChannelCore::ConnectLoop(std::shared_ptr<ChannelCore> self, Lane lane) {
  LaneState& mine = self->lane_state(lane);
  // A peer that keeps accepting and then hanging up counts as a failure:
  // without a pause, this would loop as fast as the machine can.
  bool failed =
      mine.connection != nullptr && !mine.connection->answered() &&
      self->clock_.Now() - mine.connected < self->options_.backoff.max;
  if (!failed) mine.backoff->Reset();
  while (!self->closed_ && !mine.waiting.empty()) {
    if (failed) {
      const MonotonicTime again = self->clock_.Now() + mine.backoff->Next();
      co_await mine.timer->SleepUntil(again);
      if (self->closed_ || mine.waiting.empty()) break;
    }
    absl::Status status = co_await self->ConnectOnce(lane);
    const bool refused = self->options_.fail_if_refused && IsRefusal(status);
    if (status.ok() || refused || IsPermanent(status)) {
      mine.connecting = false;
      const std::list<CallState*> waiting = mine.waiting;
      for (CallState* state : waiting) {
        if (status.ok()) {
          state->Wake();
        } else {
          state->End(status);
        }
      }
      co_return;
    }
    mine.last_error = std::move(status);
    self->logger_.Debug("connecting to {}: {}", self->peer(),
                        Describe(mine.last_error));
    failed = true;
  }
  mine.connecting = false;
}

Task<absl::Status> ChannelCore::ConnectOnce(Lane lane) {
  const MonotonicTime deadline = clock_.Now() + options_.connect_timeout;
  absl::StatusOr<std::unique_ptr<Stream>> stream =
      co_await network_.Connect(executor_, options_.address, deadline);
  if (!stream.ok()) co_return stream.status();
  auto reader =
      std::make_unique<FrameReader>(**stream, clock_, options_.limits);
  Hello self = options_.self;
  // A new small lane begins a new session, which the bulk lane then joins.
  if (lane == Lane::kSmall) session_ = random_.NextU64();
  self.session = session_;
  self.lane = lane;
  absl::StatusOr<Hello> answer;
  bool late = false;
  {
    Stream* raw = stream->get();
    const DeadlineQueue::Registration limit(deadlines_, deadline, [raw, &late] {
      late = true;
      raw->Close();
    });
    LaneState& greeted = lane_state(lane);
    greeted.greeting = raw;
    // Also when the coroutine is destroyed before it ends.
    const absl::Cleanup forget = [&greeted] { greeted.greeting = nullptr; };
    answer = co_await SayHello(*raw, *reader, self, options_.expected_task);
  }
  if (late) answer = absl::UnavailableError("no answer in time");
  if (!answer.ok()) {
    co_return WithContext(answer.status(), "handshake");
  }
  if (closed_) co_return absl::CancelledError("the channel was closed");
  LivenessOptions liveness;
  liveness.keepalive = options_.keepalive;
  liveness.stall_timeout = options_.stall_timeout;
  liveness.ping = lane == Lane::kSmall;
  LaneState& mine = lane_state(lane);
  mine.connected = clock_.Now();
  mine.connection = std::make_shared<ClientConnection>(
      clock_, executor_, std::move(*stream), std::move(reader), liveness);
  mine.connection->Start([weak = weak_from_this(), lane] {
    if (std::shared_ptr<ChannelCore> core = weak.lock()) {
      core->OnConnectionEnd(lane);
    }
  });
  co_return absl::OkStatus();
}

void ChannelCore::OnConnectionEnd(Lane lane) {
  // The lanes end together, because only the small one is monitored. But a
  // server that leaves gracefully ends both itself, and the last answers may
  // still be in flight on the other lane.
  if (lane != Lane::kSmall) return;
  for (CallState* state : lane_state(Lane::kBulk).waiting) state->Wake();
  const LaneState& small = lane_state(Lane::kSmall);
  if (small.connection != nullptr && small.connection->leaving()) return;
  LaneState& bulk = lane_state(Lane::kBulk);
  if (bulk.connection != nullptr) {
    bulk.connection->Fail(
        absl::UnavailableError("the connection beside this one was lost"));
  }
}

MonotonicTime ChannelCore::LastMoved(Lane lane, MonotonicTime start) const {
  // Traffic on the small lane, mostly keepalives, says nothing about a call's
  // progress.
  const auto& connection = lane_state(lane).connection;
  if (lane == Lane::kSmall || connection == nullptr) return start;
  return std::max(start, connection->last_moved());
}

absl::Status ChannelCore::DescribeTimeout(Lane lane, MonotonicTime start,
                                          Duration timeout,
                                          Duration limit) const {
  const MonotonicTime now = clock_.Now();
  const bool moved = LastMoved(lane, start) > start;
  const bool in_all = now >= After(start, limit);
  const double seconds =
      std::chrono::duration<double>(in_all ? limit : timeout).count();
  const LaneState& mine = lane_state(lane);
  const LaneState& small = lane_state(Lane::kSmall);
  const LaneState& missing = small.connecting ? small : mine;
  if (missing.connecting) {
    const std::string last = missing.last_error.ok()
                                 ? "no attempt has ended yet"
                                 : std::string(missing.last_error.message());
    return absl::DeadlineExceededError(
        absl::StrCat("could not be reached within ", seconds, " s: ", last));
  }
  if (moved && !in_all) {
    return absl::DeadlineExceededError(
        absl::StrCat("no progress for ", seconds, " s"));
  }
  return absl::DeadlineExceededError(
      absl::StrCat("no answer within ", seconds, " s"));
}

absl::Status ChannelCore::Blame(const absl::Status& status) const {
  const std::string task = options_.expected_task.empty()
                               ? options_.address
                               : options_.expected_task;
  return WithTask(WithContext(status, peer()), task);
}

void ChannelCore::Shutdown() {
  if (closed_) return;
  closed_ = true;
  for (LaneState& lane : lanes_) {
    lane.timer->Cancel();
    if (lane.greeting != nullptr) lane.greeting->Close();
    const std::list<CallState*> waiting = lane.waiting;
    for (CallState* state : waiting) {
      state->End(absl::CancelledError("the channel was closed"));
    }
    // The connection keeps itself alive until its goodbye is written.
    if (lane.connection != nullptr) lane.connection->SayGoodbye();
  }
  turnstile_.EndAll(absl::CancelledError("the channel was closed"));
}

Task<> ChannelCore::Close() {
  std::shared_ptr<ChannelCore> self = shared_from_this();
  Shutdown();
  CallState state(executor_);
  const DeadlineQueue::Registration limit(
      deadlines_, clock_.Now() + kGoodbyeTimeout, [this, &state] {
        for (LaneState& lane : lanes_) {
          if (lane.connection != nullptr) {
            lane.connection->Fail(
                absl::CancelledError("the channel was closed"));
          }
        }
        state.End(absl::OkStatus());
      });
  for (LaneState& lane : lanes_) {
    if (lane.connection == nullptr) continue;
    lane.connection->OnEnd([&state] { state.Wake(); });
    while (!lane.connection->ended() && !state.ended()) {
      co_await state.Sleep();
    }
    lane.connection->OnEnd(nullptr);
  }
}

// The handle: closes the channel when it is destroyed.
class PeerChannel final : public Channel {
 public:
  explicit PeerChannel(std::shared_ptr<ChannelCore> core)
      : core_(std::move(core)) {}
  ~PeerChannel() override { core_->Shutdown(); }

  Task<absl::StatusOr<Reply>> Call(Method method, std::string body,
                                   std::vector<Bytes> attachments,
                                   CallOptions options) override {
    return core_->Call(method, std::move(body), std::move(attachments),
                       std::move(options));
  }
  Task<> Close() override { return core_->Close(); }
  std::string peer() const override { return core_->peer(); }

 private:
  const std::shared_ptr<ChannelCore> core_;
};

}  // namespace

std::unique_ptr<Channel> NewPeerChannel(Clock& clock, Network& network,
                                        Logger& logger, Random random,
                                        const Executor& executor,
                                        ChannelOptions options) {
  return std::make_unique<PeerChannel>(std::make_shared<ChannelCore>(
      clock, network, logger, random, executor, std::move(options)));
}

}  // namespace capstan
