// The BLAS in this process: the library that does the mathematics of libtorch.
// Capstan does not use one itself, and links to none: what there is comes with
// the user's program, and is found by its symbols.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launch/system/cpu_features.h"

namespace capstan {

enum class BlasLibrary { kOpenBlas, kBlis, kMkl, kReference, kOther };

struct BlasInfo {
  BlasLibrary library = BlasLibrary::kOther;
  // The file that it was loaded from.
  std::string path = {};
  // The kernels that OpenBLAS has taken, such as "SkylakeX"; "" of others.
  std::string core = {};
  // As it says; 0 if it does not.
  int threads = 0;
  // Billions of operations a second, in a product of matrices of 512 x 512
  // floats; 0 if not measured.
  double gflops = 0;
};

// What there is to say of it.
struct BlasVerdict {
  bool slow = false;
  // "BLAS: OpenBLAS with the kernels Prescott, 2 threads, 21 GFLOP/s".
  std::string what = {};
  // Why it is slow and what to do; "" if it is not.
  std::string remedy = {};
};

// The BLAS that is loaded, without measuring it; nullopt if there is none.
// Thread-safe.
std::optional<BlasInfo> FindBlas();

// The same, measured: takes some 20 ms with a fast one, and no more than about
// a second with any. Thread-safe, but measures what the others leave of the
// cores.
std::optional<BlasInfo> ProbeBlas();

// Lets the BLAS, if there is one that can be told, use that many threads from
// now on. For the whole process.
void SetBlasThreads(int threads);

// A BLAS is slow if it is the reference one, if OpenBLAS has taken kernels from
// before AVX2 although the CPU has it, or if one core would have done less than
// an eighth of what such a CPU does at 2 GHz (128 GFLOP/s with AVX-512, 64 with
// AVX2, 16 without). Pure; thread-safe.
BlasVerdict Judge(const BlasInfo& blas, const CpuFeatures& cpu);

// By the path of the library's file; kOther if that does not tell. Pure.
BlasLibrary LibraryOfPath(std::string_view path);

// "OpenBLAS", "reference BLAS", ... Pure.
std::string_view NameOf(BlasLibrary library);

}  // namespace capstan
