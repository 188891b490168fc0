// What the kernel of each rule needs for one update of a shard: numbers that
// the rule's parameters, the learning rate and the count of updates give. See
// the rule's file for the formula; t counts updates from 1.
#pragma once

#include <variant>

namespace capstan {

struct SgdScalars {
  float rate;
};

struct MomentumScalars {
  float rate;
  float momentum;
};

struct AdagradScalars {
  float rate;
  float epsilon;
};

struct AdadeltaScalars {
  float rate;
  float rho;
  float rest;  // 1 - rho
  float epsilon;
};

struct RmsPropScalars {
  float rate;
  float rho;
  float rest;  // 1 - rho
  float epsilon;
  float momentum;
};

struct AdamScalars {
  float beta1;
  float rest1;  // 1 - beta1
  float beta2;
  float rest2;       // 1 - beta2
  float step;        // rate / (1 - beta1^t)
  float correction;  // 1 / sqrt(1 - beta2^t)
  float epsilon;
  float kept;  // of the value, after weight decay
};

struct AdamaxScalars {
  float beta1;
  float rest1;  // 1 - beta1
  float beta2;
  float step;  // rate / (1 - beta1^t)
  float epsilon;
};

struct NadamScalars {
  float beta1;
  float rest1;  // 1 - beta1
  float beta2;
  float rest2;          // 1 - beta2
  float gradient_step;  // rate * (1 - mu(t)) / (1 - product(t))
  float moment_step;    // rate * mu(t + 1) / (1 - product(t + 1))
  float correction;     // 1 / sqrt(1 - beta2^t)
  float epsilon;
};

struct FtrlScalars {
  float rate;
  float l1;         // times the rate
  float l2;         // twice, times the rate, and beta
  float shrinkage;  // twice
  float power;      // of the accumulator
};

using RuleScalars = std::variant<SgdScalars, MomentumScalars, AdagradScalars,
                                 AdadeltaScalars, RmsPropScalars, AdamScalars,
                                 AdamaxScalars, NadamScalars, FtrlScalars>;

}  // namespace capstan
