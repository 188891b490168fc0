#include "launch/system/cpu_features.h"

namespace capstan {

CpuFeatures ReadCpuFeatures() {
  CpuFeatures cpu;
#if defined(__x86_64__)
  __builtin_cpu_init();
  cpu.avx2_and_fma =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  cpu.avx512 = cpu.avx2_and_fma && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl");
#endif
  return cpu;
}

std::string Describe(const CpuFeatures& cpu) {
  if (cpu.avx512) return "AVX-512";
  return cpu.avx2_and_fma ? "AVX2" : "neither AVX2 nor AVX-512";
}

}  // namespace capstan
