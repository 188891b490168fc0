// Which vector instructions this CPU has.
#pragma once

#include <string>

namespace capstan {

// All false on architectures other than x86-64.
struct CpuFeatures {
  bool avx2_and_fma = false;
  // The AVX-512 parts F, DQ, BW and VL, which servers have had since 2017.
  bool avx512 = false;

  friend bool operator==(const CpuFeatures&, const CpuFeatures&) = default;
};

// The features that both the CPU and the operating system allow. Thread-safe.
CpuFeatures ReadCpuFeatures();

// The widest: "AVX-512", "AVX2" or "neither AVX2 nor AVX-512". Pure.
std::string Describe(const CpuFeatures& cpu);

}  // namespace capstan
