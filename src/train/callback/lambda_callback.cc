#include <utility>

#include "capstan/callback.h"

namespace capstan {

LambdaCallback::LambdaCallback(LambdaCallbackFunctions functions)
    : functions_(std::move(functions)) {}
LambdaCallback::~LambdaCallback() = default;

void LambdaCallback::OnTrainBegin(Logs& logs) {
  if (functions_.on_train_begin) functions_.on_train_begin(logs);
}
void LambdaCallback::OnTrainEnd(Logs& logs) {
  if (functions_.on_train_end) functions_.on_train_end(logs);
}
void LambdaCallback::OnEpochBegin(int epoch, Logs& logs) {
  if (functions_.on_epoch_begin) functions_.on_epoch_begin(epoch, logs);
}
void LambdaCallback::OnEpochEnd(int epoch, Logs& logs) {
  if (functions_.on_epoch_end) functions_.on_epoch_end(epoch, logs);
}
void LambdaCallback::OnTrainBatchBegin(int64_t batch, Logs& logs) {
  if (functions_.on_train_batch_begin) {
    functions_.on_train_batch_begin(batch, logs);
  }
}
void LambdaCallback::OnTrainBatchEnd(int64_t batch, Logs& logs) {
  if (functions_.on_train_batch_end) {
    functions_.on_train_batch_end(batch, logs);
  }
}

}  // namespace capstan
