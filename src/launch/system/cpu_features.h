// Which vector instructions this CPU has.
#pragma once

#include <string>

namespace capstan {

// On other architectures than x86-64 all are false.
struct CpuFeatures {
  bool avx2_and_fma = false;
  // Of AVX-512 the parts F, DQ, BW and VL, which servers have had since 2017.
  bool avx512 = false;

  friend bool operator==(const CpuFeatures&, const CpuFeatures&) = default;
};

// Those that both the CPU and the operating system allow. Thread-safe.
CpuFeatures ReadCpuFeatures();

// "AVX-512", "AVX2" or "neither AVX2 nor AVX-512", the widest. Pure.
std::string Describe(const CpuFeatures& cpu);

}  // namespace capstan
