#pragma once

namespace capstan::testing {

// Counts its living copies: tells whether a coroutine was destroyed.
class Alive {
 public:
  explicit Alive(int& count) : count_(count) { ++count_; }
  ~Alive() { --count_; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;

 private:
  int& count_;
};

}  // namespace capstan::testing
