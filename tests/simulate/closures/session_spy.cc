#include "simulate/closures/session_spy.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "wire/closure.h"

namespace capstan::simulate {

Task<ServerReply> SessionSpy::Serve(ServerCall& call) {
  const Method method = call.method();
  if (method == Method::kWorkerAttach) {
    const AttachRequest request = DecodeAttachRequest(call.body()).value();
    const uint64_t session = request.session;
    const uint64_t term = request.coordinator_term.term;
    ServerReply reply = co_await inner_.Serve(call);
    if (reply.status.ok()) {
      context_.world.trace().Add(node_.clock().Now(), node_.name(), "session",
                                 session);
      // Each coordinator starts counting from the beginning.
      if (std::pair(term, session) <= std::pair(term_, session_)) {
        context_.judge.Violation(absl::StrCat(node_.name(),
                                              " went back from session ",
                                              session_, " to ", session));
      }
      term_ = term;
      session_ = session;
    }
    co_return reply;
  }
  if (method != Method::kWorkerRun) co_return co_await inner_.Serve(call);
  const RunRequest request = DecodeRunRequest(call.body()).value();
  const uint64_t present = session_;
  ServerReply reply = co_await inner_.Serve(call);
  if (request.session != present && reply.status.ok()) {
    context_.judge.Violation(
        absl::StrCat(node_.name(), " served step ", request.id.step,
                     " of session ", request.session, " in session ", present));
  }
  co_return reply;
}

}  // namespace capstan::simulate
