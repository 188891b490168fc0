#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/error.h"
#include "base/file/posix_file_system.h"
#include "checkpoint/small_checkpoint_test.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "cli/command.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::capstan::testing::SaveSmall;
using ::capstan::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kHour = 3'600'000;

struct Ran {
  int code = -1;
  std::string out;
};

// A directory d with ckpt-1 to ckpt-3, one hour apart.
class CheckpointCommandTest : public ::testing::Test {
 protected:
  CheckpointCommandTest()
      : files_(ValueOrThrow(PosixFileSystem::Open(dir_.path()))) {
    EXPECT_OK(PrepareDirectory(*files_, "d"));
    for (int i = 1; i <= 3; ++i) {
      EXPECT_OK(SaveSmall(*files_, "d",
                          {.seed = static_cast<uint64_t>(i),
                           .step = static_cast<uint64_t>(100 * i),
                           .created_unix_ms = 1'700'000'000'000 + i * kHour}));
    }
  }

  // Runs `capstan checkpoint` with these arguments.
  static Ran Run(std::vector<std::string> arguments) {
    CLI::App app("", "capstan");
    Action action;
    AddCheckpointCommand(app, action);
    arguments.insert(arguments.begin(), "checkpoint");
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 expects
    app.parse(arguments);
    ::testing::internal::CaptureStdout();
    Ran ran;
    try {
      ran.code = action();
    } catch (const Error& error) {
      ran.out = error.what();
    }
    ran.out += ::testing::internal::GetCapturedStdout();
    return ran;
  }

  void Damage(const std::string& path) {
    std::string content = *ReadFile(*files_, path, 1 << 20);
    content.back() = static_cast<char>(content.back() ^ 1);
    ASSERT_OK(ReplaceFile(*files_, path, AsBytes(content)));
  }

  const TempDir dir_;
  const std::unique_ptr<PosixFileSystem> files_;
};

TEST_F(CheckpointCommandTest, Ls) {
  const Ran ran = Run({"ls", dir_ / "d"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, StartsWith("NAME "));
  EXPECT_THAT(ran.out,
              HasSubstr("\nckpt-3        300       - 2023-11-15 01:13:20"));
  Damage("d/ckpt-2/manifest.json");
  const Ran bad = Run({"ls", dir_ / "d"});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, AllOf(HasSubstr("BAD checkpoint \"d/ckpt-2\""),
                             HasSubstr("\nckpt-1 "), HasSubstr("\nckpt-3 "),
                             Not(HasSubstr("\nckpt-2 "))));
}

TEST_F(CheckpointCommandTest, ShowTheNewest) {
  const Ran ran = Run({"show", dir_ / "d"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(
      ran.out,
      AllOf(StartsWith("ckpt-3: 300 iterations\n"),
            HasSubstr("\ninternal step 300, round 150, generation 3, save "),
            HasSubstr("made 2023-11-15 01:13:20 UTC by Capstan 0.1.0"),
            HasSubstr("embedding  f32[7, 4], adam with m, v\n"
                      "  rows [0:3) in server-0.safetensors, version 301, 300 "
                      "updates\n"
                      "  rows [3:7) in server-1.safetensors, version 301, 300 "
                      "updates\n"
                      "ids  i64[2, 3], not trained\n"),
            HasSubstr("records\n  trainer: {\"epoch\": 2}\n")));
}

TEST_F(CheckpointCommandTest, ShowOneThroughALink) {
  std::filesystem::create_symlink("d/ckpt-1", dir_ / "link");
  const Ran ran = Run({"show", dir_ / "link", "--json"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, *ReadFile(*files_, "d/ckpt-1/manifest.json", 1 << 20));
}

TEST_F(CheckpointCommandTest, NoSuchPlace) {
  EXPECT_THAT(Run({"show", dir_ / "no"}).out,
              AllOf(HasSubstr("/no\": "), HasSubstr("No such file")));
  ASSERT_OK(files_->CreateDir("empty"));
  EXPECT_THAT(Run({"verify", dir_ / "empty"}).out,
              HasSubstr("\"empty\" holds no checkpoint"));
}

TEST_F(CheckpointCommandTest, Verify) {
  const Ran well = Run({"verify", "--all", dir_ / "d"});
  EXPECT_EQ(well.code, 0);
  EXPECT_THAT(well.out, AllOf(HasSubstr("d/ckpt-1: sound, 100 iterations"),
                              HasSubstr("d/ckpt-3: sound, 300 iterations")));
  Damage("d/ckpt-2/server-0.safetensors");
  Damage("d/ckpt-2/server-1.safetensors");
  EXPECT_EQ(Run({"verify", dir_ / "d"}).code, 0);  // the newest
  for (const Ran& bad : {Run({"verify", "--all", dir_ / "d"}),
                         Run({"verify", dir_ / "d/ckpt-2"})}) {
    EXPECT_EQ(bad.code, 1);
    EXPECT_THAT(
        bad.out,
        AllOf(HasSubstr("ckpt-2/server-0.safetensors\": tensor \"on[0:5]\""),
              HasSubstr("ckpt-2/server-1.safetensors\": tensor "
                        "\"embedding[3:7].v\""),
              Not(HasSubstr("ckpt-2: sound"))));
  }
}

TEST_F(CheckpointCommandTest, Diff) {
  EXPECT_EQ(Run({"diff", dir_ / "d/ckpt-3", dir_ / "d"}).out,
            "no difference in 6 tensors\n");
  const Ran ran = Run({"diff", "--slots", dir_ / "d/ckpt-1", dir_ / "d"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("embedding: 28 of 28 elements differ"),
                             HasSubstr("embedding.v: 28 of 28 elements"),
                             HasSubstr("1 tensor equal")));
}

TEST_F(CheckpointCommandTest, Export) {
  const std::string out = dir_ / "m.safetensors";
  const Ran ran = Run({"export", dir_ / "d", out});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("m.safetensors: ckpt-3, 300 iterations"));
  const auto read = ReadSafetensors(*files_, "m.safetensors");
  ASSERT_OK(read);
  EXPECT_EQ(*read->Find("embedding"),
            testing::SmallTensors({.seed = 3, .step = 300}).at("embedding"));
  EXPECT_EQ(read->Find("embedding.m"), nullptr);
  EXPECT_EQ(Run({"export", "--slots", dir_ / "d", dir_ / "m.npz"}).code, 0);
  EXPECT_THAT(*ReadFile(*files_, "m.npz", 1 << 20),
              AllOf(StartsWith("PK"), HasSubstr("embedding.m.npy")));
  EXPECT_THROW(Run({"export", dir_ / "d", dir_ / "m.pt"}),
               CLI::ValidationError);
}

TEST_F(CheckpointCommandTest, Prune) {
  const Ran dry = Run({"prune", dir_ / "d", "--keep", "1", "--dry-run"});
  EXPECT_EQ(dry.code, 0);
  EXPECT_EQ(dry.out,
            "would remove ckpt-1\nwould remove ckpt-2\n"
            "1 of 3 would be kept\n");
  const Ran hours =
      Run({"prune", dir_ / "d", "--keep", "1", "--keep-every-hours", "1.5"});
  EXPECT_EQ(hours.out, "removed ckpt-2\n2 of 3 kept\n");
  EXPECT_EQ(*ListCheckpoints(*files_, "d"),
            (std::vector<std::string>{"ckpt-1", "ckpt-3"}));
  EXPECT_THROW(Run({"prune", dir_ / "d"}), CLI::RequiredError);
  EXPECT_THROW(Run({"prune", dir_ / "d", "--keep", "0"}), CLI::ValidationError);
}

TEST_F(CheckpointCommandTest, PruneLeavesWhatItCannotOpen) {
  Damage("d/ckpt-1/manifest.json");
  const Ran ran = Run({"prune", dir_ / "d", "--keep", "1"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(*ListCheckpoints(*files_, "d"),
            (std::vector<std::string>{"ckpt-1", "ckpt-3"}));
}

TEST_F(CheckpointCommandTest, PruneKeepsASoundOneInThePlaceOfABadOne) {
  Damage("d/ckpt-3/server-0.safetensors");
  const Ran dry = Run({"prune", dir_ / "d", "--keep", "1", "--dry-run"});
  EXPECT_EQ(dry.code, 1);
  const Ran ran = Run({"prune", dir_ / "d", "--keep", "1"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.out, AllOf(StartsWith("BAD "),
                             HasSubstr("ckpt-3/server-0.safetensors\": "),
                             HasSubstr("\nremoved ckpt-1\n"
                                       "1 of 3 kept, and 1 bad left alone\n")));
  EXPECT_EQ(*ListCheckpoints(*files_, "d"),
            (std::vector<std::string>{"ckpt-2", "ckpt-3"}));
}

TEST_F(CheckpointCommandTest, PruneNeverRemovesTheOnlySoundOne) {
  Damage("d/ckpt-2/server-1.safetensors");
  Damage("d/ckpt-3/server-0.safetensors");
  EXPECT_EQ(Run({"prune", dir_ / "d", "--keep", "1"}).code, 1);
  EXPECT_EQ(ListCheckpoints(*files_, "d")->size(), 3u);
}

}  // namespace
}  // namespace capstan
