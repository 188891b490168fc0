#include "transport/view_cursor.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan {
namespace {

TEST(ViewCursorTest, WalksThroughTheViews) {
  const std::vector<Bytes> views = {AsBytes("ab"), Bytes(), AsBytes("cde"),
                                    Bytes()};
  ViewCursor<Bytes> cursor(views);
  EXPECT_EQ(cursor.remaining(), 5u);
  EXPECT_EQ(AsText(cursor.front()), "ab");
  cursor.Advance(1);
  EXPECT_EQ(AsText(cursor.front()), "b");
  cursor.Advance(2);
  EXPECT_EQ(AsText(cursor.front()), "de");
  EXPECT_EQ(cursor.remaining(), 2u);
  cursor.Advance(2);
  EXPECT_EQ(cursor.remaining(), 0u);
  EXPECT_TRUE(cursor.front().empty());
}

TEST(ViewCursorTest, OneAdvanceCrossesViews) {
  const std::vector<Bytes> views = {AsBytes("a"), AsBytes("b"), AsBytes("cd")};
  ViewCursor<Bytes> cursor(views);
  cursor.Advance(3);
  EXPECT_EQ(AsText(cursor.front()), "d");
}

TEST(ViewCursorTest, NothingHasNoFront) {
  EXPECT_EQ(ViewCursor<Bytes>().remaining(), 0u);
  EXPECT_TRUE(ViewCursor<Bytes>().front().empty());
  const std::vector<Bytes> views(3);
  EXPECT_EQ(ViewCursor<Bytes>(views).remaining(), 0u);
  EXPECT_TRUE(ViewCursor<Bytes>(views).front().empty());
}

TEST(ViewCursorTest, StopsAtTheMaximum) {
  const std::vector<Bytes> views(kMaxViews + 5, AsBytes("x"));
  ViewCursor<Bytes> cursor(views);
  EXPECT_EQ(cursor.remaining(), kMaxViews);
  cursor.Advance(kMaxViews);
  EXPECT_TRUE(cursor.front().empty());
}

}  // namespace
}  // namespace capstan
