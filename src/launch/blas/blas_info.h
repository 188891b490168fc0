// The BLAS in this process: the library that does the math for libtorch.
// Capstan does not use one itself and links to none: any BLAS comes with the
// user's program and is found by its symbols.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launch/system/cpu_features.h"

namespace capstan {

enum class BlasLibrary { kOpenBlas, kBlis, kMkl, kReference, kOther };

struct BlasInfo {
  BlasLibrary library = BlasLibrary::kOther;
  // The file it was loaded from.
  std::string path = {};
  // The kernels that OpenBLAS uses, such as "SkylakeX"; "" for other libraries.
  std::string core = {};
  // As the library reports; 0 if it does not.
  int threads = 0;
  // Billions of operations per second, in a product of 512 x 512 matrices of
  // floats; 0 if not measured.
  double gflops = 0;
};

// What to tell the user about a BLAS.
struct BlasVerdict {
  bool slow = false;
  // "BLAS: OpenBLAS with the kernels Prescott, 2 threads, 21 GFLOP/s".
  std::string what = {};
  // Why it is slow and what to do; "" if it is not slow.
  std::string remedy = {};
};

// The BLAS that is loaded, not measured; nullopt if there is none. Thread-safe.
std::optional<BlasInfo> FindBlas();

// The same, measured: takes about 20 ms for a fast BLAS and at most about a
// second for any. Thread-safe, but other threads that use the cores lower the
// result.
std::optional<BlasInfo> ProbeBlas();

// Sets the number of BLAS threads for the whole process, if there is a BLAS
// that supports it.
void SetBlasThreads(int threads);

// A BLAS is slow if it is the reference one, if OpenBLAS uses kernels from
// before AVX2 although the CPU has AVX2, or if one core would reach less than
// an eighth of what such a CPU reaches at 2 GHz (128 GFLOP/s with AVX-512, 64
// with AVX2, 16 without). Pure; thread-safe.
BlasVerdict Judge(const BlasInfo& blas, const CpuFeatures& cpu);

// By the path of the library's file; kOther if the path does not tell. Pure.
BlasLibrary LibraryOfPath(std::string_view path);

// "OpenBLAS", "reference BLAS", ... Pure.
std::string_view NameOf(BlasLibrary library);

}  // namespace capstan
