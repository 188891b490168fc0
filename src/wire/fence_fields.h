// The fence of a request, which its message carries as two fields. For use by
// the codecs of this folder only.
#pragma once

#include "wire/parameter.h"

namespace capstan {

template <typename Message>
void FillFence(Message& message, const Fence& fence) {
  message.set_generation(fence.generation);
  message.set_term(fence.term);
}

template <typename Message>
Fence ReadFence(const Message& message) {
  return {.generation = message.generation(), .term = message.term()};
}

}  // namespace capstan
