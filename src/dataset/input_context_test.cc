#include <gtest/gtest.h>

#include <string>

#include "capstan/dataset.h"
#include "dataset/thrown_test.h"

namespace capstan {
namespace {

TEST(InputContextTest, AloneItIsTheFirstOfOne) {
  const InputContext context;
  EXPECT_EQ(context.num_input_pipelines, 1);
  EXPECT_EQ(context.input_pipeline_id, 0);
  EXPECT_EQ(context.PerReplicaBatchSize(64), 64);
}

TEST(InputContextTest, TheGlobalBatchIsSharedByTheReplicas) {
  EXPECT_EQ(InputContext{.num_replicas_in_sync = 4}.PerReplicaBatchSize(64),
            16);
  EXPECT_EQ(InputContext{.num_replicas_in_sync = 2}.PerReplicaBatchSize(
                INT64_MAX - 1),
            INT64_MAX / 2);
}

TEST(InputContextTest, ABatchThatDoesNotDivideThrows) {
  const InputContext context{.num_replicas_in_sync = 4};
  for (const int64_t global : {66, 3, 0, -4}) {
    EXPECT_EQ(Thrown([&] { context.PerReplicaBatchSize(global); }),
              "InputContext: the global batch size is " +
                  std::to_string(global) +
                  "; it must be a positive multiple of num_replicas_in_sync, 4 "
                  "(InvalidArgument)");
  }
}

TEST(InputContextTest, NoReplicasThrow) {
  EXPECT_EQ(Thrown([] {
              InputContext{.num_replicas_in_sync = 0}.PerReplicaBatchSize(8);
            }),
            "InputContext: num_replicas_in_sync is 0; it must be at least 1 "
            "(InvalidArgument)");
}

}  // namespace
}  // namespace capstan
