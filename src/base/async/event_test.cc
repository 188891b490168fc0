#include "base/async/event.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <string>

namespace capstan {
namespace {

Task<> CountEvents(Event& event, int times, int& count) {
  for (int i = 0; i < times; ++i) {
    co_await event.Wait();
    ++count;
  }
}

TEST(EventTest, SetBeforeWaitIsRememberedOnce) {
  asio::io_context context;
  Event event(context.get_executor());
  event.Set();
  event.Set();
  int count = 0;
  Spawn(context.get_executor(), CountEvents(event, 2, count));
  context.poll();
  EXPECT_EQ(count, 1);
  EXPECT_FALSE(event.is_set());
  event.Set();
  context.restart();
  context.poll();
  EXPECT_EQ(count, 2);
}

Task<> Take(Promise<std::string>& promise, std::string& value) {
  value = co_await promise.Get();
}

TEST(PromiseTest, GivesTheFirstValue) {
  asio::io_context context;
  Promise<std::string> promise(context.get_executor());
  std::string value;
  Spawn(context.get_executor(), Take(promise, value));
  context.poll();
  EXPECT_EQ(value, "");
  EXPECT_TRUE(promise.Set("first"));
  EXPECT_FALSE(promise.Set("second"));
  EXPECT_TRUE(promise.done());
  context.restart();
  context.poll();
  EXPECT_EQ(value, "first");
}

TEST(PromiseTest, GetAfterSetReturnsAtOnce) {
  asio::io_context context;
  Promise<std::string> promise(context.get_executor());
  promise.Set("early");
  std::string value;
  Spawn(context.get_executor(), Take(promise, value));
  context.poll();
  EXPECT_EQ(value, "early");
}

}  // namespace
}  // namespace capstan
