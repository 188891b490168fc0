// A service that does what the contract tests ask of it: echo, fail, wait, read
// in unusual ways. Test-only.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "testing/gate.h"
#include "wire/service.h"

namespace capstan::testing {

// Numbers that no method of Capstan will ever have.
inline constexpr Method kEcho{0xff00};  // answers the body and attachments
inline constexpr Method kFail{0xff01};  // answers the error "CODE MESSAGE"
// The same error, concerning TASK; body "TASK CODE MESSAGE".
inline constexpr Method kFailFor{0xff0a};
// Waits at the gate named by the body, then does what kEcho does.
inline constexpr Method kHoldThenEcho{0xff02};
// Receives the attachments, waits at the gate named by the body, answers the
// body.
inline constexpr Method kTakeThenHold{0xff03};
// Receives in pieces of the size given by body "PIECE"; answers Digest. Body
// "PIECE check" counts the bytes that differ from Pattern(0).
inline constexpr Method kDigest{0xff04};
// Receives as many bytes as the body says, leaves the rest; answers Digest.
inline constexpr Method kTakePart{0xff05};
// Answers COUNT attachments of SIZE bytes for body "COUNT SIZE"; each is
// Pattern(its number).
inline constexpr Method kGenerate{0xff06};
// Waits until the caller gives up.
inline constexpr Method kUntilCancelled{0xff07};
// Answers "TASK JOB INCARNATION TIMEOUT_US REPLY_LIMIT" as the server sees
// them, after receiving all attachments.
inline constexpr Method kDescribe{0xff08};
// Receives nothing, waits at the gate named by the body, answers the body.
inline constexpr Method kHold{0xff09};
inline constexpr Method kUnknown{0xfffe};

// What kDigest and kTakePart answer after receiving `bytes`: "COUNT CRC".
std::string Digest(Bytes bytes);

// Thread-safe. Must outlive the server and its executors.
class ContractService final : public Service {
 public:
  explicit ContractService(Clock& clock) : clock_(clock) {}

  Task<ServerReply> Serve(ServerCall& call) override;
  void OnDisconnect(const Hello& peer) override {
    if (peer.lane == Lane::kSmall) last_disconnected_ = peer.session;
  }

  // The gate with that name; created on first use.
  Gate& gate(const std::string& name);

  // Calls that began, that returned, and that waited in kUntilCancelled and
  // were cancelled.
  int started() const { return started_; }
  int finished() const { return finished_; }
  int cancelled() const { return cancelled_; }
  // Calls whose attachments did not arrive, and the code of the last.
  int cut_short() const { return cut_short_; }
  absl::StatusCode cut_short_code() const { return cut_short_code_; }
  // Owners of answers' memory that have not been released yet.
  int owners() const { return owners_; }
  // Bytes received by kDigest and kTakePart so far.
  uint64_t received() const { return received_; }
  uint64_t wrong_bytes() const { return wrong_bytes_; }
  // The session of the last small lane that ended; 0 for none.
  uint64_t last_disconnected() const { return last_disconnected_; }

 private:
  Task<ServerReply> Dispatch(ServerCall& call);
  Task<ServerReply> Echo(ServerCall& call);
  Task<ServerReply> Hold(ServerCall& call);
  Task<ServerReply> TakeThenHold(ServerCall& call);
  Task<ServerReply> Take(ServerCall& call, uint64_t bytes, uint64_t piece,
                         bool check);
  Task<ServerReply> UntilCancelled(ServerCall& call);
  ServerReply Generate(const ServerCall& call);
  Task<ServerReply> Describe(ServerCall& call);
  ServerReply CutShort(absl::Status status);
  // Counts as an owner of an answer's memory for as long as it lives.
  std::shared_ptr<Buffer> NewOwner(Buffer memory);

  Clock& clock_;
  std::atomic<int> started_ = 0;
  std::atomic<int> finished_ = 0;
  std::atomic<int> cancelled_ = 0;
  std::atomic<int> cut_short_ = 0;
  std::atomic<absl::StatusCode> cut_short_code_ = absl::StatusCode::kOk;
  std::atomic<int> owners_ = 0;
  std::atomic<uint64_t> received_ = 0;
  std::atomic<uint64_t> wrong_bytes_ = 0;
  std::atomic<uint64_t> last_disconnected_ = 0;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Gate>> gates_;
};

}  // namespace capstan::testing
