#include "dataset/format/csv_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "dataset/format/csv_plan.h"

namespace capstan {
namespace {

RC_GTEST_PROP(CsvTextTest, FindsTheFirstOfTwoCharacters, (std::string text)) {
  const char wanted = *rc::gen::element(',', '\t', '\x80', '\xff', '\0');
  const std::size_t size = text.size();
  text += '\n';
  text.append(16, 'x');
  const char* const found = FindEither(text.data(), wanted);
  const std::size_t expected = std::min(text.find(wanted), text.find('\n'));
  RC_ASSERT(expected <= size);
  RC_ASSERT(static_cast<std::size_t>(found - text.data()) == expected);
}

RC_GTEST_PROP(CsvTextTest, ModuloIsTheRemainder,
              (std::uint64_t x, std::uint64_t divisor)) {
  const int shift = *rc::gen::inRange(0, 64);
  for (const std::uint64_t d : {divisor, divisor >> shift,
                                std::uint64_t{1} << shift, std::uint64_t{1}}) {
    if (d == 0) continue;
    RC_ASSERT(Modulo(d)(x) == x % d);
    RC_ASSERT(Modulo(d)(~x) == ~x % d);
  }
}

}  // namespace
}  // namespace capstan
