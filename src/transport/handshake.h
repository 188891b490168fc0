// The first exchange on a connection: each side says who it is, and the one
// that was called may refuse.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/async/task.h"
#include "transport/frame_reader.h"
#include "transport/stream.h"
#include "wire/hello.h"

namespace capstan {

// Whether the peer may call itself what its hello says: PermissionDenied if it
// has shown a certificate that is for somebody else.
absl::Status CheckCertificate(const Stream& stream, const Hello& hello);

// Whether the peer has shown the token of `ours`, if that has one. If not,
// Unauthenticated, with what to do and no part of a token. Over a stream
// without certificates no token is good enough: others could have read it.
// Takes the same time wherever the first difference is.
absl::Status CheckToken(const Stream& stream, const Hello& ours,
                        const Hello& theirs);

// What a caller is told about `refusal`. One of another job has not shown that
// it has to do with ours, and does not learn its id.
absl::Status RefusalForCaller(const Hello& ours, const Hello& theirs,
                              const absl::Status& refusal);

// In both directions a token is sent only on a stream whose peer has shown a
// certificate, and not returned.

// Calling side: says `self`, returns who answered. FailedPrecondition, naming
// both sides' values, if either refuses the other; see CheckHello.
// PermissionDenied and Unauthenticated as above.
Task<absl::StatusOr<Hello>> SayHello(Stream& stream, FrameReader& reader,
                                     const Hello& self,
                                     std::string_view expected_task);

// Called side: waits for the hello. InvalidArgument if something else comes.
Task<absl::StatusOr<Hello>> AwaitHello(FrameReader& reader);

// Called side: answers it.
Task<absl::Status> SendWelcome(Stream& stream, const Hello& self);
Task<absl::Status> SendRefusal(Stream& stream, const absl::Status& reason);

}  // namespace capstan
