#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "capstan/error.h"
#include "capstan/trainer.h"

namespace capstan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

History SomeHistory() {
  History history;
  history.Add(0, {{"loss", 0.5}});
  history.Add(1, {{"loss", 0.25}, {"val_loss", 1e-7}});
  return history;
}

TEST(HistoryTest, HasASeriesForEachName) {
  const History history = SomeHistory();
  EXPECT_THAT(history.epochs(), ElementsAre(0, 1));
  EXPECT_THAT(history["loss"], ElementsAre(0.5, 0.25));
  EXPECT_THAT(history["val_loss"], ElementsAre(1e-7));
  EXPECT_THAT([&] { history["auc"]; },
              ThrowsMessage<Error>(HasSubstr("loss, val_loss")));
}

TEST(HistoryTest, IsWrittenAsCsv) {
  EXPECT_EQ(SomeHistory().ToCsv(),
            "epoch,loss,val_loss\n0,0.5,\n1,0.25,1e-07\n");
}

TEST(HistoryTest, IsWrittenAsJson) {
  History history = SomeHistory();
  history.Add(2, {{"a \"b\"", std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(history.ToJson(),
            "{\"epoch\": [0, 1, 2], \"a \\\"b\\\"\": [null], "
            "\"loss\": [0.5, 0.25], \"val_loss\": [1e-07]}");
}

}  // namespace
}  // namespace capstan
