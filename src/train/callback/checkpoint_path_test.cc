#include "train/callback/checkpoint_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/error.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(CheckpointPathTest, PutsNumbersIn) {
  const Logs logs = {{"loss", 0.12345}, {"val_loss", 2}};
  EXPECT_EQ(CheckpointPath("ckpt", 3, 40, logs), "ckpt.safetensors");
  EXPECT_EQ(
      CheckpointPath("a/{epoch:02d}-{val_loss:.2f}.safetensors", 3, 40, logs),
      "a/03-2.00.safetensors");
  EXPECT_EQ(CheckpointPath("{epoch}-{batch}-{loss:.3f}", 12, 40, logs),
            "12-40-0.123.safetensors");
}

TEST(CheckpointPathTest, NamesWhatCanBePutIn) {
  EXPECT_THAT(
      [] {
        CheckpointPath("{auc}", 1, 1, {{"loss", 1}});
      },
      ThrowsMessage<Error>(
          AllOf(HasSubstr("'{auc}'"), HasSubstr("epoch, batch, loss"))));
  EXPECT_THROW(CheckpointPath("{epoch", 1, 1, {}), Error);
  EXPECT_THROW(CheckpointPath("{epoch:.2s}", 1, 1, {}), Error);
}

}  // namespace
}  // namespace capstan
