// The judge of the request_reply workload: from outside the nodes, it sees
// every request as it is sent, served and answered, and knows what the
// transport promises.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "simulate/requests/request_plan.h"
#include "simulate/workload.h"
#include "simulation/sim_world.h"
#include "wire/channel.h"

namespace capstan::simulate {

// Used from the simulation's thread.
class RequestJudge {
 public:
  // In a calm scenario, only deadlines and cancellations may fail calls.
  RequestJudge(SimWorld& world, Violations& violations, bool calm)
      : world_(world), violations_(violations), calm_(calm) {}

  // The caller is about to send a request to `server`. Returns its token, which
  // is unique in the run.
  uint64_t OnSend(const SimNode& client, size_t server);
  // The caller cancels the request.
  void OnCancel(uint64_t token);
  // The caller has an answer, in `places` if it was received in place.
  void OnResult(const SimNode& client, const RequestPlan& plan,
                const absl::StatusOr<Reply>& reply,
                const std::vector<MutableBytes>& places);

  // The service has received a request. False if the token is unknown.
  bool OnServe(size_t server, uint64_t token);
  void OnServed(uint64_t token);
  // The request's bytes differ from what was sent.
  void OnCorrupt(uint64_t token, std::string_view what);

  // Takes memory that a call has released, and checks later whether anybody
  // wrote to it.
  void Bury(uint64_t token, std::vector<std::byte> memory);
  // Checks everything still buried.
  void Exhume();

  void Violation(uint64_t token, std::string_view what);
  const Tally& tally() const { return tally_; }
  Tally& tally() { return tally_; }

 private:
  struct Request {
    size_t server = 0;
    MonotonicTime sent;
    MonotonicTime cancelled = kNever;
    int served = 0;
    bool answered = false;
    bool ended = false;
  };
  struct Grave {
    uint64_t token;
    std::vector<std::byte> memory;
  };

  void CheckTime(const SimNode& client, const RequestPlan& plan,
                 const Request& request, absl::StatusCode code);
  void CheckCode(const RequestPlan& plan, const Request& request,
                 const absl::Status& status);
  void CheckReply(const RequestPlan& plan, const Reply& reply,
                  const std::vector<MutableBytes>& places);
  void CheckGrave(const Grave& grave);

  SimWorld& world_;
  Violations& violations_;
  const bool calm_;
  // By token; the first token is 1.
  std::vector<Request> requests_;
  std::map<uint64_t, Grave> graves_;
  uint64_t next_grave_ = 0;
  Tally tally_;
};

}  // namespace capstan::simulate
