#include "testing/transport_world.h"

#include <stdexcept>

namespace capstan::testing {

void TransportWorld::MustRunUntil(const std::function<bool()>& done) {
  if (!RunUntil(done)) throw std::runtime_error("the test waits in vain");
}

}  // namespace capstan::testing
