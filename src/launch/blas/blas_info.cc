#include "launch/blas/blas_info.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/async/real_clock.h"
#include "launch/blas/blas_core.h"

namespace capstan {
namespace {

// Fortran's interface: everything by reference, and the string lengths at the
// end. Integers are passed as 64-bit; a library with 32-bit integers reads
// their lower half.
using Sgemm = void (*)(const char*, const char*, const int64_t*, const int64_t*,
                       const int64_t*, const float*, const float*,
                       const int64_t*, const float*, const int64_t*,
                       const float*, float*, const int64_t*, size_t, size_t);

constexpr int64_t kSize = 512;
constexpr double kOperations = 2.0 * kSize * kSize * kSize;
constexpr auto kMeasureFor = std::chrono::milliseconds(15);
constexpr double kSlowFraction = 1.0 / 8;

// A function of any library in this process; null if none has it.
template <typename Function>
Function FindFunction(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

// The file that `address` was loaded from, with all links resolved.
std::string FileOf(const void* address) {
  Dl_info info = {};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::canonical(info.dli_fname, error);
  return error ? info.dli_fname : path.string();
}

BlasLibrary LibraryOfSymbols() {
  if (FindFunction<void*>("openblas_get_corename") != nullptr) {
    return BlasLibrary::kOpenBlas;
  }
  if (FindFunction<void*>("bli_info_get_version_str") != nullptr) {
    return BlasLibrary::kBlis;
  }
  return FindFunction<void*>("mkl_get_max_threads") != nullptr ||
                 FindFunction<void*>("MKL_Get_Max_Threads") != nullptr
             ? BlasLibrary::kMkl
             : BlasLibrary::kOther;
}

int ThreadsOf(BlasLibrary library) {
  const char* name = nullptr;
  if (library == BlasLibrary::kOpenBlas) name = "openblas_get_num_threads";
  if (library == BlasLibrary::kMkl) name = "MKL_Get_Max_Threads";
  if (library == BlasLibrary::kReference) return 1;
  if (name == nullptr) return 0;
  const auto get = FindFunction<int (*)()>(name);
  return get == nullptr ? 0 : get();
}

// The fastest of several products, so that an interrupted one does not count.
double Measure(Sgemm sgemm) {
  const std::vector<float> a(kSize * kSize, 0.5f);
  const std::vector<float> b(kSize * kSize, 0.25f);
  std::vector<float> c(kSize * kSize);
  const float one = 1;
  const float zero = 0;
  const RealClock clock;
  const MonotonicTime start = clock.Now();
  double best = 0;
  // The first product wakes the threads and faults in the pages.
  for (int i = 0; i < 2 || clock.Now() - start < kMeasureFor; ++i) {
    const MonotonicTime before = clock.Now();
    sgemm("N", "N", &kSize, &kSize, &kSize, &one, a.data(), &kSize, b.data(),
          &kSize, &zero, c.data(), &kSize, 1, 1);
    const std::chrono::duration<double> took = clock.Now() - before;
    best = std::max(best, kOperations / took.count() / 1e9);
  }
  return best;
}

double ExpectedGflops(const CpuFeatures& cpu) {
  if (cpu.avx512) return 128;
  return cpu.avx2_and_fma ? 64 : 16;
}

}  // namespace

BlasLibrary LibraryOfPath(std::string_view path) {
  const auto has = [path](std::string_view part) {
    return path.find(part) != path.npos;
  };
  if (has("openblas")) return BlasLibrary::kOpenBlas;
  if (has("/blis") || has("libblis")) return BlasLibrary::kBlis;
  if (has("mkl")) return BlasLibrary::kMkl;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libblas.so") && !has("atlas")) {
    return BlasLibrary::kReference;
  }
  return BlasLibrary::kOther;
}

std::string_view NameOf(BlasLibrary library) {
  switch (library) {
    case BlasLibrary::kOpenBlas:
      return "OpenBLAS";
    case BlasLibrary::kBlis:
      return "BLIS";
    case BlasLibrary::kMkl:
      return "MKL";
    case BlasLibrary::kReference:
      return "reference BLAS";
    case BlasLibrary::kOther:
      break;
  }
  return "another library";
}

std::optional<BlasInfo> FindBlas() {
  const auto sgemm = FindFunction<void*>("sgemm_");
  if (sgemm == nullptr) return std::nullopt;
  BlasInfo blas;
  blas.path = FileOf(sgemm);
  blas.library = LibraryOfPath(blas.path);
  if (blas.library == BlasLibrary::kOther) blas.library = LibraryOfSymbols();
  if (blas.library == BlasLibrary::kOpenBlas) {
    const auto core = FindFunction<const char* (*)()>("openblas_get_corename");
    if (core != nullptr) blas.core = core();
  }
  blas.threads = ThreadsOf(blas.library);
  return blas;
}

std::optional<BlasInfo> ProbeBlas() {
  std::optional<BlasInfo> blas = FindBlas();
  if (blas) blas->gflops = Measure(FindFunction<Sgemm>("sgemm_"));
  return blas;
}

void SetBlasThreads(int threads) {
  for (const char* name : {"openblas_set_num_threads", "MKL_Set_Num_Threads"}) {
    const auto set = FindFunction<void (*)(int)>(name);
    if (set != nullptr) set(threads);
  }
}

BlasVerdict Judge(const BlasInfo& blas, const CpuFeatures& cpu) {
  BlasVerdict verdict;
  verdict.what = fmt::format("BLAS: {}", NameOf(blas.library));
  if (!blas.core.empty()) {
    verdict.what += fmt::format(" with the kernels {}", blas.core);
  }
  if (blas.threads > 0) {
    verdict.what += fmt::format(", {} thread{}", blas.threads,
                                blas.threads == 1 ? "" : "s");
  }
  if (blas.gflops > 0) {
    verdict.what += fmt::format(", {:.3g} GFLOP/s", blas.gflops);
  }
  constexpr char kInstall[] =
      "on Debian: apt install libopenblas0-pthread, and choose it with "
      "update-alternatives --config libblas.so.3-x86_64-linux-gnu";
  const std::string better = OpenBlasCoreFor(cpu);
  if (blas.library == BlasLibrary::kReference) {
    verdict.remedy = fmt::format("20 times slower than others; {}", kInstall);
  } else if (IsOldCore(blas.core) && !better.empty()) {
    verdict.remedy = fmt::format(
        "several times slower than this CPU, which has {}; set {}={}",
        Describe(cpu), kBlasCoreVariable, better);
  } else if (blas.gflops > 0 &&
             blas.gflops < ExpectedGflops(cpu) * kSlowFraction) {
    verdict.remedy = fmt::format(
        "a CPU with {} does {:.0f} on one core; {}", Describe(cpu),
        ExpectedGflops(cpu),
        blas.library == BlasLibrary::kOther
            ? kInstall
            : "see what else runs here, and whether the container has a "
              "whole core");
  }
  verdict.slow = !verdict.remedy.empty();
  return verdict;
}

}  // namespace capstan
