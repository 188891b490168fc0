// How simulated tasks introduce themselves.
#pragma once

#include <cstddef>
#include <string>

#include "simulation/sim_world.h"
#include "wire/hello.h"

namespace capstan::simulate {

// The hello of task `role`/`index` on `node`, in its current incarnation.
inline Hello HelloOf(const SimNode& node, std::string role, size_t index) {
  Hello hello;
  hello.version = "1";
  hello.job = "simulation";
  hello.role = std::move(role);
  hello.index = static_cast<uint32_t>(index);
  hello.incarnation = node.incarnation();
  return hello;
}

}  // namespace capstan::simulate
