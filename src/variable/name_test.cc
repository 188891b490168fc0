#include "variable/name.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(NameTest, AcceptsPrintableUtf8) {
  for (const char* name : {"w", "dense/kernel:0", "a b", "gr\xc3\xb6sse",
                           "\xe5\x90\x8d", "\xf0\x9f\x98\x80", "\xc2\xa0"}) {
    EXPECT_OK(CheckName(name));
  }
  EXPECT_OK(CheckName(std::string(kMaxNameBytes, 'x')));
}

TEST(NameTest, RefusesEmptyAndLong) {
  EXPECT_THAT(CheckName(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("without a name")));
  EXPECT_THAT(CheckName(std::string(kMaxNameBytes + 1, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("513 bytes; the most is 512")));
}

TEST(NameTest, RefusesControlCharacters) {
  for (std::string_view name :
       {std::string_view("a\nb"), std::string_view("a\0b", 3),
        std::string_view("\x1b[31m"), std::string_view("\x7f"),
        std::string_view("\xc2\x85")}) {  // the C1 next-line
    EXPECT_THAT(CheckName(name), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("control characters")));
  }
}

TEST(NameTest, RefusesWhatIsNotUtf8) {
  for (const char* name : {
           "\x80",              // a continuation alone
           "\xc3",              // cut short
           "\xc3(",             // no continuation
           "\xc0\xaf",          // overlong
           "\xe0\x80\xaf",      // overlong
           "\xf0\x80\x80\xaf",  // overlong
           "\xed\xa0\x80",      // a surrogate
           "\xf4\x90\x80\x80",  // above U+10FFFF
           "\xff",
       }) {
    EXPECT_THAT(CheckName(name), StatusIs(absl::StatusCode::kInvalidArgument))
        << CalledName(name);
  }
}

TEST(NameTest, MessagesEscapeWhatATerminalShouldNotSee) {
  EXPECT_EQ(CalledName("w\xc3\xb6"), "variable \"w\xc3\xb6\"");
  EXPECT_EQ(CalledName("a\n\xff"), "variable \"a\\n\\xff\"");
  EXPECT_EQ(CalledName(std::string(1000, 'x')),
            "variable \"" + std::string(64, 'x') + "...\"");
}

}  // namespace
}  // namespace capstan
