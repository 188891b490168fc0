#include "launch/system/printable.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(PrintableTest, ControlCharactersAreWrittenOut) {
  EXPECT_EQ(Printable("ps/1: \"no\"\x1b[2J\n\x7f"),
            "ps/1: \"no\"\\x1b[2J\\x0a\\x7f");
}

TEST(PrintableTest, TextStaysAsItIs) {
  EXPECT_EQ(Printable("caf\xc3\xa9 'x' \\"), "caf\xc3\xa9 'x' \\");
  EXPECT_EQ(Printable(""), "");
}

}  // namespace
}  // namespace capstan
