// What the coordinator asks of a worker: the bodies.
//
// The coordinator starts a session by attaching to a worker. Its later requests
// carry the session's number, and a worker refuses those of any other session.
// A new session ends the closures of the previous one, so that a worker that
// was cut off for a while does not continue with work that others have since
// been given. Tensors of arguments and results travel as attachments, in the
// order of the value.
// Thread-safe: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "capstan/dataset.h"
#include "capstan/function.h"
#include "wire/membership.h"
#include "wire/parameter.h"

namespace capstan {

// Body of kWorkerAttach.
struct AttachRequest {
  CoordinatorTerm coordinator_term;  // who asks
  uint64_t session = 0;              // greater than all before it in this term
  friend bool operator==(const AttachRequest&, const AttachRequest&) = default;
};

struct AttachReply {
  uint64_t incarnation = 0;
  uint32_t concurrency = 1;  // how many closures it runs at once
  // What the program defines; requests refer to these by index.
  std::vector<FunctionInfo> functions;
  std::vector<ResourceInfo> resources;
  // The resources of this coordinator that the worker still has.
  std::vector<uint64_t> made;
};

// Body of kWorkerRun. Answered when the closure has ended.
struct RunRequest {
  uint64_t session = 0;
  uint32_t function = 0;
  UpdateId id;  // of its first update
  bool want_value = true;
  // The bytes of the arguments, as PackValue defines them.
  std::string arguments;
  bool attached = false;
  friend bool operator==(const RunRequest&, const RunRequest&) = default;
};

// How a closure ended. The numbers are on the wire.
enum class RunEnd : uint8_t {
  kDone = 0,
  kFailed = 1,     // of its own accord: `error`
  kCancelled = 2,  // because it was told to
  kLeaving = 3,    // the worker is leaving the job and has not finished it
};

struct RunReply {
  RunEnd end = RunEnd::kDone;
  absl::Status error;  // of kFailed, with the task concerned
  std::string value;   // as RunRequest::arguments
  bool attached = false;
  uint64_t run_ns = 0;  // how long the function took
};

// Body of kWorkerCancel: tells closures to end, including those that are still
// on their way to the worker. Answered at once; the closures' own answers come
// as they end.
struct CancelRequest {
  uint64_t session = 0;
  std::vector<uint64_t> steps;
  // Closures that have begun to run are left alone: the others are to be moved
  // to another worker.
  bool unless_started = false;
  friend bool operator==(const CancelRequest&, const CancelRequest&) = default;
};

// Body of kWorkerMake: make a resource. Answered when that is done, with the
// outcome. Making a resource that exists already for the same input changes
// nothing; for another input, the new one replaces it for functions that begin
// from then on.
struct MakeRequest {
  uint64_t session = 0;
  uint64_t id = 0;        // assigned by the coordinator
  uint32_t resource = 0;  // index in AttachReply::resources
  InputContext input;
};

// Body of kWorkerDrop: resources that nobody will ask for again.
struct DropRequest {
  uint64_t session = 0;
  std::vector<uint64_t> ids;
  friend bool operator==(const DropRequest&, const DropRequest&) = default;
};

// A closure that a worker has.
struct RunningClosure {
  uint64_t step = 0;
  std::string function = {};
  bool started = false;  // otherwise it waits for a thread
  uint64_t since_ms = 0;
  std::string waits_for = {};  // such as "a pull of 'w'"; empty: computing
  uint64_t waits_ms = 0;
  friend bool operator==(const RunningClosure&,
                         const RunningClosure&) = default;
};

// Answer to kWorkerStatus.
struct WorkerReport {
  std::vector<RunningClosure> running;
  uint64_t finished = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  friend bool operator==(const WorkerReport&, const WorkerReport&) = default;
};

// The coordinator's connection to a worker. The numbers are on the wire.
enum class LinkState : uint8_t {
  kConnecting = 0,  // not attached yet, or no longer
  kPreparing = 1,   // making its resources
  kReady = 2,
};
std::string_view LinkStateName(LinkState state);

struct LinkReport {
  std::string task;
  LinkState state = LinkState::kConnecting;
  uint32_t in_flight = 0;
  uint64_t finished = 0;
  uint64_t failed = 0;
  uint64_t lost = 0;  // how often the worker was lost
  // From sending to the answer, over the most recent closures.
  uint64_t mean_us = 0;
  uint64_t p99_us = 0;
  std::string error;  // why it is not ready
  // The closure that the worker has had longest.
  uint64_t oldest_ms = 0;
  uint64_t oldest_step = 0;
  std::string oldest_function;
  // The resource that the worker is making, if any.
  std::string making;
  uint64_t making_ms = 0;
  friend bool operator==(const LinkReport&, const LinkReport&) = default;
};

// Answer to kDispatchStatus: the coordinator's queue.
struct DispatchReport {
  bool active = false;  // the program has a ClusterCoordinator
  uint64_t queued = 0;
  uint64_t in_flight = 0;
  uint64_t finished = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  // Closures that were given to another worker, by reason: the first worker was
  // lost; it could not reach a server; it left the job.
  uint64_t lost_retries = 0;
  uint64_t server_retries = 0;
  uint64_t leaving_retries = 0;
  uint64_t poisoned = 0;
  uint64_t watermark = 0;  // every step up to this one has ended
  uint64_t round = 0;      // the last one committed
  double per_second = 0;   // closures that finished
  std::string error;       // what the next call will raise
  std::vector<LinkReport> workers;
  friend bool operator==(const DispatchReport&,
                         const DispatchReport&) = default;
};

// A value on the wire: its tensors are the attachments; its bytes are in the
// body or, if they would make the body large, in the last attachment.
struct PackedValue {
  std::string in_body;
  bool attached = false;
  std::vector<Bytes> attachments;  // views of the value
};
PackedValue PackValue(const EncodedValue& value);
// The inverse of PackValue. `received` are the attachments, as bytes.
// InvalidArgument if the last attachment should hold the value's bytes and is
// missing.
absl::StatusOr<EncodedValue> UnpackValue(std::string in_body, bool attached,
                                         std::vector<Tensor> received);

// Decoding fails with InvalidArgument, and checks the form only.
std::string EncodeAttachRequest(const AttachRequest& request);
absl::StatusOr<AttachRequest> DecodeAttachRequest(std::string_view body);
std::string EncodeAttachReply(const AttachReply& reply);
absl::StatusOr<AttachReply> DecodeAttachReply(std::string_view body);
std::string EncodeRunRequest(const RunRequest& request);
absl::StatusOr<RunRequest> DecodeRunRequest(std::string_view body);
std::string EncodeRunReply(const RunReply& reply);
absl::StatusOr<RunReply> DecodeRunReply(std::string_view body);
std::string EncodeCancelRequest(const CancelRequest& request);
absl::StatusOr<CancelRequest> DecodeCancelRequest(std::string_view body);
std::string EncodeMakeRequest(const MakeRequest& request);
absl::StatusOr<MakeRequest> DecodeMakeRequest(std::string_view body);
std::string EncodeDropRequest(const DropRequest& request);
absl::StatusOr<DropRequest> DecodeDropRequest(std::string_view body);
std::string EncodeWorkerReport(const WorkerReport& report);
absl::StatusOr<WorkerReport> DecodeWorkerReport(std::string_view body);
std::string EncodeDispatchReport(const DispatchReport& report);
absl::StatusOr<DispatchReport> DecodeDispatchReport(std::string_view body);

}  // namespace capstan
