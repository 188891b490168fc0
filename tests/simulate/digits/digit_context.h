// What the nodes of the exact_digits workload share.
#pragma once

#include <cstddef>
#include <string>

#include "simulate/digits/digit_judge.h"
#include "simulate/digits/digit_ledger.h"
#include "simulate/digits/digit_options.h"
#include "simulate/digits/digit_variables.h"
#include "simulate/workload.h"
#include "simulation/sim_world.h"

namespace capstan::simulate {

struct DigitContext {
  SimWorld& world;
  const DigitOptions& options;
  const Plant plant;
  const DigitVariables& variables;
  DigitJudge judge;
  DigitLedger ledger;
  // No more faults and no new steps: outstanding ones must finish.
  bool finishing = false;
  // They have finished.
  bool over = false;
};

std::string DigitServerName(size_t index);
std::string DigitServerAddress(size_t index);

}  // namespace capstan::simulate
