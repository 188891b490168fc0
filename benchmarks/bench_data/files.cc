#include "bench_data/files.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>

#include "base/random.h"

namespace capstan {
namespace {

constexpr int kMissing = 5;  // one in this many

void AppendBig(std::uint32_t value, std::string& to) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    to.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

}  // namespace

std::string NumericCsv(int rows) {
  Random random(1);
  std::string text;
  for (int i = 0; i < 16; ++i) text += fmt::format("{}c{}", i ? "," : "", i);
  text += '\n';
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < 16; ++i) {
      if (i > 0) text += ',';
      if (i % 4 == 0) {
        text += fmt::format("{}", random.Below(1000));
      } else {
        text += fmt::format("{:.6g}", 100 * random.Uniform() - 50);
      }
    }
    text += '\n';
  }
  return text;
}

std::string CriteoTsv(int rows) {
  Random random(2);
  std::string text;
  for (int row = 0; row < rows; ++row) {
    text += random.Below(4) == 0 ? '1' : '0';
    for (int i = 0; i < 13; ++i) {
      text += '\t';
      // Most are small, a few large.
      if (random.Below(kMissing) > 0) {
        text +=
            fmt::format("{}", random.Below(uint64_t{1} << random.Below(14)));
      }
    }
    for (int i = 0; i < 26; ++i) {
      text += '\t';
      if (random.Below(kMissing) > 0) {
        text += fmt::format("{:08x}", random.Below(uint64_t{1} << 32));
      }
    }
    text += '\n';
  }
  return text;
}

std::string IdxImages(int rows) {
  Random random(3);
  std::string file("\0\0\x08\x03", 4);
  for (const int dim : {rows, 28, 28}) {
    AppendBig(static_cast<std::uint32_t>(dim), file);
  }
  for (int i = 0; i < rows * 28 * 28 / 8; ++i) {
    const std::uint64_t bits = random.NextU64();
    file.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  return file;
}

std::string IdxLabels(int rows) {
  Random random(4);
  std::string file("\0\0\x08\x01", 4);
  AppendBig(static_cast<std::uint32_t>(rows), file);
  for (int i = 0; i < rows; ++i) {
    file.push_back(static_cast<char>(random.Below(10)));
  }
  return file;
}

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace capstan
