#include "server/published.h"

namespace capstan {

size_t ThreadNumber() {
  static std::atomic<size_t> next = 0;
  thread_local const size_t number = next.fetch_add(1);
  return number;
}

}  // namespace capstan
