// The parameter server of the demo: one tensor.
#pragma once

#include "absl/status/status.h"
#include "base/bytes.h"
#include "capstan/tensor.h"
#include "wire/probe_service.h"
#include "wire/service.h"

namespace capstan {

// Answers kPullTensor, kPushUpdate, kDigest and the probes. On one executor.
//
// A push makes a new tensor and leaves the old one to the pulls that are being
// sent from it, so that no pull ever sees half of an update.
class TensorService final : public Service {
 public:
  TensorService();

  Task<ServerReply> Serve(ServerCall& call) override;

 private:
  Task<ServerReply> Pull();
  Task<ServerReply> Push(ServerCall& call);
  Task<ServerReply> Digest();
  absl::Status Add(Bytes update);

  Tensor values_;
  ProbeService probe_;
};

}  // namespace capstan
