#include "tensor_service.h"

#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/crc32c.h"
#include "demo.h"

namespace capstan {

TensorService::TensorService()
    : values_(Tensor::Uninitialized(DType::kF32, TensorShape())) {
  const std::span<float> elements = values_.MutableValues<float>();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = InitialElement(i);
}

Task<ServerReply> TensorService::Serve(ServerCall& call) {
  const Method method = call.method();
  if (method == kPullTensor) return Pull();
  if (method == kPushUpdate) return Push(call);
  if (method == kDigest) return Digest();
  return probe_.Serve(call);
}

Task<ServerReply> TensorService::Pull() {
  ServerReply reply;
  reply.attachments.push_back(values_.view().bytes());
  reply.owner = values_.memory();
  co_return reply;
}

Task<ServerReply> TensorService::Push(ServerCall& call) {
  ServerReply reply;
  absl::StatusOr<Buffer> update = co_await call.ReceiveAll();
  reply.status = update.ok() ? Add(update->bytes()) : update.status();
  co_return reply;
}

Task<ServerReply> TensorService::Digest() {
  ServerReply reply;
  reply.body = EncodeProbeSize(Crc32c(values_.view().bytes()));
  co_return reply;
}

absl::Status TensorService::Add(Bytes update) {
  const std::span<const float> old = values_.Values<float>();
  if (update.size() != old.size_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an update of ", update.size(), " bytes, not ", old.size_bytes()));
  }
  const auto* added = reinterpret_cast<const float*>(update.data());
  Tensor sum = Tensor::Uninitialized(DType::kF32, values_.shape());
  const std::span<float> elements = sum.MutableValues<float>();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = old[i] + added[i];
  values_ = std::move(sum);
  return absl::OkStatus();
}

}  // namespace capstan
