// The models without a server: libtorch alone, in one process.
#pragma once

namespace capstan::bench {

// Examples per second of `steps` steps, after a warm-up.
double TrainMlpPlain(int steps);
double TrainClicksPlain(int steps);

// The test accuracy after this many epochs, with weights from a seed.
double MlpAccuracyPlain(int epochs, int seed);

// GFLOP/s of a product of 512 x 512 matrices.
double SgemmGflops();

}  // namespace capstan::bench
