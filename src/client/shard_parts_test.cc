#include "client/shard_parts.h"

#include <gtest/gtest.h>

#include <vector>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

class ShardPartsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<VariableSpec> specs(3);
    for (size_t i = 0; i < 3; ++i) {
      specs[i].name = std::string(1, static_cast<char>('a' + i));
      specs[i].shape = {5, 2};
    }
    map_ = *ShardMap::Make(4, 0, 2, {});
    map_ = *AddVariables(map_, specs, FixedShards(2));
    map_ = *DropVariables(map_, std::vector<std::string>{"b"});
  }

  static std::vector<DenseItem> Items(const std::vector<uint32_t>& ids) {
    std::vector<DenseItem> items(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) items[i].variable = ids[i];
    return items;
  }

  ShardMap map_;
};

TEST_F(ShardPartsTest, ItemsAreOrderedByVariable) {
  const std::vector<DenseItem> items = Items({3, 1});
  const absl::StatusOr<std::vector<ItemOrder>> order =
      OrderItems(map_, std::span<const DenseItem>(items));
  ASSERT_OK(order);
  EXPECT_EQ((*order)[0].entry->id, 1u);
  EXPECT_EQ((*order)[0].item, 1u);
  EXPECT_EQ((*order)[1].entry->id, 3u);
  EXPECT_EQ((*order)[1].item, 0u);
}

TEST_F(ShardPartsTest, AVariableTwiceIsRefused) {
  const std::vector<DenseItem> items = Items({3, 1, 3});
  EXPECT_THAT(OrderItems(map_, std::span<const DenseItem>(items)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("variable 'c' occurs twice")));
}

TEST_F(ShardPartsTest, AVariableThatIsNotThere) {
  // It existed once, and ids are not reused.
  EXPECT_THAT(NoVariable(map_, 2),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("variable 2"), HasSubstr("dropped"))));
  // A server that has just begun a generation has no shards yet.
  const ShardMap begun = *ShardMap::Make(5, 0, 2, {}, map_.next_id());
  EXPECT_THAT(NoVariable(begun, 2), StatusIs(absl::StatusCode::kAborted));
  // It may be in a newer map.
  EXPECT_THAT(NoVariable(map_, 4),
              StatusIs(absl::StatusCode::kAborted,
                       HasSubstr("variable 4 is not in version 2")));
  const std::vector<DenseItem> items = Items({4});
  EXPECT_THAT(OrderItems(map_, std::span<const DenseItem>(items)),
              StatusIs(absl::StatusCode::kAborted));
}

TEST_F(ShardPartsTest, SizesAreExplained) {
  const VariableEntry& entry = *map_.Find("a");
  EXPECT_OK(CheckSize(entry, 40, 40));
  EXPECT_THAT(CheckSize(entry, 40, 41),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("variable 'a' is f32[5, 2]: 40 bytes are "
                                 "needed, and 41 were given")));
}

TEST_F(ShardPartsTest, VersionsBelongToAGeneration) {
  const VariableEntry& entry = *map_.Find("a");
  EXPECT_EQ(VersionOf(nullptr, map_, 0), 0u);
  ShardVersions versions;
  EXPECT_EQ(VersionOf(&versions, map_, 0), 0u);
  SetVersion(&versions, map_, entry, 1, 7);
  SetVersion(nullptr, map_, entry, 1, 7);
  EXPECT_EQ(versions.generation, 4u);
  EXPECT_EQ(VersionOf(&versions, map_, 0), 0u);
  EXPECT_EQ(VersionOf(&versions, map_, 1), 7u);
  EXPECT_EQ(VersionOf(&versions, map_, 2), 0u);
  versions.generation = 3;
  EXPECT_EQ(VersionOf(&versions, map_, 1), 0u);
  // Versions of another generation are dropped.
  SetVersion(&versions, map_, entry, 0, 9);
  EXPECT_EQ(versions.versions, (std::vector<uint64_t>{9, 0}));
}

TEST_F(ShardPartsTest, BytesOfAShard) {
  const VariableEntry& entry = *map_.Find("a");
  std::vector<std::byte> bytes(40);
  const Bytes all = bytes;
  EXPECT_EQ(ShardBytes(entry, 0, all, 8).size(), 24u);
  EXPECT_EQ(ShardBytes(entry, 1, all, 8).size(), 16u);
  EXPECT_EQ(ShardBytes(entry, 1, all, 8).data(), bytes.data() + 24);
}

TEST_F(ShardPartsTest, RepliesAreComplete) {
  ShardsReply reply;
  reply.versions = {1, 2};
  EXPECT_OK(ReadReply(EncodeShardsReply(reply), 2, false));
  const auto incomplete =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("an answer for"));
  EXPECT_THAT(ReadReply(EncodeShardsReply(reply), 3, false), incomplete);
  EXPECT_THAT(ReadReply(EncodeShardsReply(reply), 2, true), incomplete);
  reply.outcomes = {Outcome::kApplied, Outcome::kStaged};
  EXPECT_OK(ReadReply(EncodeShardsReply(reply), 2, true));
  EXPECT_THAT(ReadReply(EncodeShardsReply(reply), 2, false), incomplete);
  EXPECT_THAT(ReadReply("\xff", 2, false),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

struct Planned {
  ShardsRequest request;
};

TEST(RequestListTest, SplitsWhatIsTooLarge) {
  RequestList<Planned> requests(3);
  for (uint32_t shard = 0; shard < 5; ++shard) {
    requests.For(2, /*most=*/2)
        .request.parts.push_back({.key = {.variable = 1, .shard = shard}});
  }
  requests.For(0).request.parts.push_back({.key = {.variable = 7}});
  // By destination, and in the order in which they were added; none is empty.
  std::vector<std::vector<uint32_t>> shards;
  for (const Planned& planned : requests.Take()) {
    std::vector<uint32_t>& own = shards.emplace_back();
    for (const ShardPart& part : planned.request.parts) {
      own.push_back(part.key.shard);
    }
  }
  EXPECT_EQ(shards,
            (std::vector<std::vector<uint32_t>>{{0}, {0, 1}, {2, 3}, {4}}));
}

}  // namespace
}  // namespace capstan
