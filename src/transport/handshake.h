// The first exchange on a connection: each side identifies itself, and the
// called side may refuse the caller.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/async/task.h"
#include "transport/frame_reader.h"
#include "transport/stream.h"
#include "wire/hello.h"

namespace capstan {

// Checks that the peer may identify itself as its hello says: PermissionDenied
// if its certificate is for a different task.
absl::Status CheckCertificate(const Stream& stream, const Hello& hello);

// Checks that the peer has sent the token of `ours`, if `ours` has one. If not,
// Unauthenticated, with the remedy and no part of a token. On a stream without
// certificates every token is refused, because others could have read it. Takes
// the same time wherever the first difference is.
absl::Status CheckToken(const Stream& stream, const Hello& ours,
                        const Hello& theirs);

// The form of `refusal` that is sent to the caller. A caller of another job has
// not shown that it belongs to this one, so it does not learn this job's id.
absl::Status RefusalForCaller(const Hello& ours, const Hello& theirs,
                              const absl::Status& refusal);

// In both directions, a token is sent only if the peer has shown a certificate,
// and is left out of the Hello returned.

// Calling side: sends `self` and returns the Hello of the task that answered.
// FailedPrecondition, naming both sides' values, if either refuses the other;
// see CheckHello. PermissionDenied and Unauthenticated as above.
Task<absl::StatusOr<Hello>> SayHello(Stream& stream, FrameReader& reader,
                                     const Hello& self,
                                     std::string_view expected_task);

// Called side: waits for the hello. InvalidArgument if anything else arrives.
Task<absl::StatusOr<Hello>> AwaitHello(FrameReader& reader);

// Called side: answers the hello.
Task<absl::Status> SendWelcome(Stream& stream, const Hello& self);
Task<absl::Status> SendRefusal(Stream& stream, const absl::Status& reason);

}  // namespace capstan
