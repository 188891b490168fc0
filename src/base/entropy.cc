#include "base/entropy.h"

namespace capstan {
namespace {

thread_local FakeEntropy* current = nullptr;

}  // namespace

FakeEntropy::FakeEntropy(uint64_t seed) : random_(seed), before_(current) {
  current = this;
}

FakeEntropy::~FakeEntropy() { current = before_; }

FakeEntropy* FakeEntropy::Current() { return current; }

}  // namespace capstan
