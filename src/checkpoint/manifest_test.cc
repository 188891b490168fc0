#include "checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "base/crc32c.h"
#include "checkpoint/manifest_json.h"
#include "checkpoint/small_checkpoint_test.h"
#include "checkpoint/tensor_file/hex_text.h"
#include "rapidcheck/gtest.h"
#include "simulation/sim_file_system.h"
#include "tensor/dtype.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::IsOkAndHolds;
using ::capstan::testing::SmallSave;
using ::capstan::testing::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kInvalidArgument;

Manifest Small() {
  SimFileSystem files;
  return *testing::WriteSmallFiles(files, "", SmallSave{});
}

std::string Encoded() { return *EncodeManifest(Small()); }

// A text with another body and the right checksum.
std::string WithBody(const std::string& body) {
  return body + ",\n  \"crc32c\": \"" + Hex32(Crc32c(AsBytes(body))) +
         "\"\n}\n";
}

// The text with `from` replaced and the checksum corrected.
std::string Edited(const std::string& from, const std::string& to) {
  const std::string text = Encoded();
  std::string body = text.substr(0, text.rfind(','));
  const size_t at = body.find(from);
  EXPECT_NE(at, body.npos) << from;
  return WithBody(body.replace(at, from.size(), to));
}

TEST(ManifestTest, RoundTrip) {
  const Manifest manifest = Small();
  const auto text = EncodeManifest(manifest);
  ASSERT_OK(text);
  EXPECT_THAT(*text, StartsWith("{\n  \"format\": \"capstan-checkpoint\",\n"
                                "  \"version\": 1,\n  \"save_id\": \""));
  EXPECT_THAT(*text, EndsWith("\"\n}\n"));
  EXPECT_THAT(DecodeManifest(*text), IsOkAndHolds(manifest));
}

TEST(ManifestTest, NothingIsAManifestToo) {
  const auto text = EncodeManifest(Manifest{});
  ASSERT_OK(text);
  EXPECT_THAT(DecodeManifest(*text), IsOkAndHolds(Manifest{}));
}

// Any JSON reader accepts the text.
TEST(ManifestTest, KeepsTheExtremes) {
  Manifest manifest = Small();
  manifest.save_id = UINT64_MAX;
  manifest.generation = UINT64_MAX;
  manifest.step = UINT64_MAX - 1;
  manifest.applied_above = {UINT64_MAX};
  manifest.created_unix_ms = std::numeric_limits<int64_t>::min();
  manifest.variables[0].shards[0].momentum_product =
      std::numeric_limits<double>::denorm_min();
  manifest.variables[0].shards[1].momentum_product = -0.1234567890123456789;
  manifest.records["nul"] = std::string("a\0\n\"\\\x7f", 6);
  manifest.records["umlaut"] = "ä€😀";
  const auto text = EncodeManifest(manifest);
  ASSERT_OK(text);
  EXPECT_THAT(DecodeManifest(*text), IsOkAndHolds(manifest));
}

RC_GTEST_PROP(ManifestTest, AnyRoundTrip, ()) {
  Manifest manifest = Small();
  manifest.save_id = *rc::gen::arbitrary<uint64_t>();
  manifest.step = *rc::gen::inRange<uint64_t>(0, UINT64_MAX / 2);
  manifest.applied_above.clear();
  uint64_t above = manifest.step;
  for (const int more :
       *rc::gen::container<std::vector<int>>(rc::gen::inRange<int>(1, 1000))) {
    manifest.applied_above.push_back(above += static_cast<uint64_t>(more));
  }
  manifest.created_unix_ms = *rc::gen::arbitrary<int64_t>();
  const auto text =
      rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  manifest.records =
      *rc::gen::container<std::map<std::string, std::string>>(text, text);
  for (SavedVariable& variable : manifest.variables) {
    variable.trainable = *rc::gen::arbitrary<bool>();
    for (SavedShard& shard : variable.shards) {
      shard.version = *rc::gen::arbitrary<uint64_t>();
      shard.updates = *rc::gen::arbitrary<uint64_t>();
      shard.momentum_product = *rc::gen::arbitrary<double>();
    }
  }
  const auto encoded = EncodeManifest(manifest);
  RC_ASSERT(encoded.ok());
  const auto decoded = DecodeManifest(*encoded);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == manifest);
}

TEST(ManifestTest, NotUtf8) {
  Manifest manifest = Small();
  manifest.records["trainer"] = "a\xff";
  EXPECT_THAT(
      EncodeManifest(manifest),
      StatusIs(kInvalidArgument, AllOf(HasSubstr("record \"trainer\""),
                                       HasSubstr("is not valid UTF-8"))));
  manifest = Small();
  manifest.variables[0].name = "w\xc3";
  EXPECT_THAT(EncodeManifest(manifest),
              StatusIs(kInvalidArgument, HasSubstr("variable \"w")));
}

TEST(ManifestTest, NotANumber) {
  Manifest manifest = Small();
  manifest.variables[0].shards[0].momentum_product =
      std::numeric_limits<double>::infinity();
  EXPECT_THAT(EncodeManifest(manifest),
              StatusIs(kInvalidArgument, HasSubstr("momentum_product")));
}

TEST(ManifestTest, CutAnywhere) {
  const std::string text = Encoded();
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(DecodeManifest(text.substr(0, size)),
                StatusIs(kDataLoss, HasSubstr("manifest.json")))
        << size;
  }
  EXPECT_THAT(DecodeManifest(text + "\n"), StatusIs(kDataLoss));
}

TEST(ManifestTest, NewerVersion) {
  EXPECT_THAT(
      DecodeManifest(WithBody("{\n  \"format\": \"capstan-checkpoint\",\n"
                              "  \"version\": 2,\n  \"what\": {\"ever\": 1}")),
      StatusIs(kInvalidArgument,
               AllOf(HasSubstr("version 2"), HasSubstr("version 1"),
                     HasSubstr("newer Capstan"))));
  EXPECT_THAT(DecodeManifest(Edited("\"version\": 1", "\"version\": 0")),
              StatusIs(kInvalidArgument, HasSubstr("version 0")));
}

struct Edit {
  const char* from;
  const char* to;
  const char* message;
};

// Texts whose checksum is right, so that only their content is wrong.
TEST(ManifestTest, RefusesWhatIsNotItsJson) {
  const Edit edits[] = {
      {"\"format\": \"capstan-checkpoint\"", "\"format\": \"zip\"",
       "its format is \"zip\""},
      {"\"format\": \"capstan-checkpoint\",", "",
       "does not begin with its format and version"},
      {"\"step\": 0", "\"step\": -1", "the number -1 where none belongs"},
      {"\"step\": 0", "\"step\": 1.5", "the number 1.5 where none belongs"},
      {"\"step\": 0", "\"step\": 18446744073709551616",
       "where none belongs, after the key \"step\""},
      {"\"step\": 0", "\"step\": \"0\"", "a string where none belongs"},
      {"\"step\": 0", "\"step\": null", "null where none belongs"},
      {"\"step\": 0", "\"step\": true", "true where none belongs"},
      {"\"step\": 0", "\"step\": {}", "an object where none belongs"},
      {"\"step\": 0", "\"step\": []", "an array where none belongs"},
      {"\"step\": 0", "\"step\": 1e999", "no JSON at its byte"},
      {"\"step\": 0", "\"stop\": 0", "the key \"stop\" is not known"},
      {"\"step\": 0", "\"step\": 0, \"step\": 0",
       "the key \"step\" is there twice"},
      {"\"step\": 0,", "", "the key \"step\" is missing"},
      {"\"step\": 0", "\"step\": 0,", "no JSON at its byte"},
      {"\"applied_above\": [", "\"applied_above\": [[", "an array where none"},
      {"\"applied_above\": [", "\"applied_above\": [{}, ", "an object where"},
      {"\"applied_above\": [", "\"applied_above\": [\"a\", ", "a string where"},
      {"\"applied_above\": [2, 5]", "\"applied_above\": 7", "a number where"},
      {"\"save_id\": \"", "\"save_id\": \"0", "is not the text of a"},
      {"\"dtype\": \"f32\"", "\"dtype\": \"f33\"", "variable \"embedding\""},
      {"\"shape\": [7, 4]", "\"shape\": [7, -4]", "the number -4"},
      {"\"shape\": [7, 4]", "\"shape\": [7, 9223372036854775807]",
       "variable \"embedding\""},
      {"\"shape\": [7, 4]", "\"shape\": [9223372036854775808]", "the dim"},
      {"\"shape\": [7, 4]", "\"shape\": [1,1,1,1,1,1,1,1,1]",
       "more than 8 dims"},
      {"\"shape\": [7, 4]", "\"shape\": \"7, 4\"", "a string where none"},
      {"\"slots\": [\"m\", \"v\"]", "\"slots\": \"m\"", "a string where none"},
      {"\"slots\": [\"m\", \"v\"]", "\"slots\": [1]", "a number where none"},
      {"\"files\": [", "\"files\": [1, ", "a number where none belongs"},
      {"\"files\": [", "\"files\": [{}, ", "the key \"name\" is missing"},
      {"\"trainer\": ", "\"trainer\": \"\", \"trainer\": ",
       "record \"trainer\" twice"},
      {"\"trainer\": ", "\"trainer\": 1, \"x\": ", "a number where none"},
      {"\"trainer\": ", "\"trainer\": {\"x\": ", "an object where none"},
  };
  for (const Edit& edit : edits) {
    EXPECT_THAT(DecodeManifest(Edited(edit.from, edit.to)),
                StatusIs(kDataLoss, HasSubstr(edit.message)))
        << edit.to;
  }
}

TEST(ManifestTest, RefusesOtherTexts) {
  const Edit texts[] = {
      {"", "", "does not begin with {"},
      {"", "[]", "does not begin with {"},
      {"", "\xef\xbb\xbf{", "does not begin with {"},
      {"", "{\"format\": \"capstan-checkpoint\" \"", "no JSON"},
  };
  for (const Edit& edit : texts) {
    EXPECT_THAT(DecodeManifest(WithBody(edit.to)),
                StatusIs(kDataLoss, HasSubstr(edit.message)))
        << edit.to;
  }
  EXPECT_THAT(DecodeManifest(WithBody(std::string("{\0", 2))),
              StatusIs(kDataLoss, HasSubstr("a NUL")));
}

// As deep as the text allows: neither the stack nor the memory may run out.
TEST(ManifestTest, RefusesDepth) {
  std::string body = "{\"format\": \"capstan-checkpoint\", \"version\": 1, ";
  body += "\"files\": ";
  body.append(10'000'000, '[');
  EXPECT_THAT(DecodeManifest(WithBody(body)),
              StatusIs(kDataLoss, HasSubstr("an array where none belongs")));
}

struct Change {
  std::function<void(Manifest&)> change;
  const char* message;
};

TEST(ManifestTest, RefusesWhatDoesNotFitTogether) {
  const Change changes[] = {
      {[](Manifest& m) { m.applied_above = {0}; }, "applied_above holds 0"},
      {[](Manifest& m) {
         m.applied_above = {5, 5};
       },
       "holds 5 behind 5"},
      {[](Manifest& m) { m.files[0].name = "../a"; }, "\"../a\" is not a name"},
      {[](Manifest& m) { m.files[0].name = "manifest.json"; },
       "has the name of the manifest"},
      {[](Manifest& m) { m.files[1].name = m.files[0].name; },
       "\"server-0.safetensors\" is there twice"},
      {[](Manifest& m) { m.files[0].bytes = UINT64_MAX; },
       "more than there can be"},
      {[](Manifest& m) { m.files[0].bytes = m.files[1].bytes = INT64_MAX; },
       "more than there can be"},
      {[](Manifest& m) { m.files[0].tensors.push_back(m.files[0].tensors[0]); },
       "twice"},
      {[](Manifest& m) {
         m.files[0].tensors.push_back({"x[0:1]", 0});
       },
       "tensor \"x[0:1]\" of file \"server-0.safetensors\" is of no variable"},
      {[](Manifest& m) { m.files[0].tensors.pop_back(); },
       "is not in file \"server-0.safetensors\""},
      {[](Manifest& m) { std::swap(m.variables[0], m.variables[1]); },
       "names must ascend"},
      {[](Manifest& m) { m.variables[0].name = "em\nbedding"; },
       "em\\nbedding"},
      {[](Manifest& m) {
         m.variables[0].slots = {"m", "m"};
       },
       "slot \"m\" is there twice"},
      {[](Manifest& m) {
         m.variables[0].slots = {"m", ""};
       },
       "a slot"},
      {[](Manifest& m) { m.variables[0].optimizer = ""; },
       "it has slots, but no optimizer"},
      {[](Manifest& m) { m.variables[0].shards[1].begin = 4; },
       "rows [4:7) of 7 do not follow on those before, which end at 3"},
      {[](Manifest& m) { m.variables[0].shards[1].end = 8; },
       "rows [3:8) of 7"},
      {[](Manifest& m) { m.variables[0].shards[0].end = -1; }, "rows [0:-1)"},
      {[](Manifest& m) { m.variables[0].shards.pop_back(); },
       "rows [3:7) are in no shard"},
      {[](Manifest& m) { m.variables[2].shards.clear(); },
       "variable \"none\": rows [0:0) are in no shard"},
      {[](Manifest& m) { m.variables[0].shards[0].file = "x"; },
       "file \"x\", which is not one"},
      {[](Manifest& m) { m.variables[0].shards[0].file = m.files[1].name; },
       "tensor \"embedding[0:3]\" is not in file \"server-1.safetensors\""},
  };
  for (const Change& change : changes) {
    Manifest manifest = Small();
    change.change(manifest);
    EXPECT_THAT(CheckManifest(manifest),
                StatusIs(kInvalidArgument, HasSubstr(change.message)));
    const auto text = EncodeManifest(manifest);
    ASSERT_OK(text);
    EXPECT_THAT(DecodeManifest(*text),
                StatusIs(kDataLoss, HasSubstr(change.message)));
  }
}

// "a" rows 0:1 slot "b[0:1]" and "a[0:1].b" rows 0:1 have the same tensor.
TEST(ManifestTest, RefusesATensorThatIsTwoThings) {
  Manifest manifest;
  const SavedShard shard{.begin = 0, .end = 1, .file = "f"};
  manifest.variables = {{.name = "a",
                         .shape = Shape({1}),
                         .optimizer = "o",
                         .slots = {"b[0:1]"},
                         .shards = {shard}},
                        {.name = "a[0:1].b",
                         .shape = Shape({1}),
                         .optimizer = "",
                         .slots = {},
                         .shards = {shard}}};
  manifest.files = {
      {.name = "f", .tensors = {{"a[0:1]", 0}, {"a[0:1].b[0:1]", 0}}}};
  EXPECT_THAT(CheckManifest(manifest),
              StatusIs(kInvalidArgument, HasSubstr("rename the variable")));
}

TEST(ManifestTest, FileNames) {
  for (const char* name : {"a", "A-b_c.9", "ckpt-1", "a..b", "-"}) {
    EXPECT_OK(CheckFileName(name)) << name;
  }
  EXPECT_OK(CheckFileName(std::string(128, 'a')));
  for (const char* name : {"", ".", "..", ".a", "a/b", "a b", "ä", "a\n"}) {
    EXPECT_THAT(CheckFileName(name), StatusIs(kInvalidArgument)) << name;
  }
  EXPECT_THAT(CheckFileName(std::string(129, 'a')), StatusIs(kInvalidArgument));
  EXPECT_THAT(CheckFileName(std::string_view("a\0b", 3)),
              StatusIs(kInvalidArgument, HasSubstr("a\\000b")));
}

TEST(ManifestTest, TensorNames) {
  EXPECT_EQ(ShardTensorName("w", 0, 12), "w[0:12]");
  EXPECT_EQ(ShardTensorName("w", 3, 12, "momentum"), "w[3:12].momentum");
}

}  // namespace
}  // namespace capstan
