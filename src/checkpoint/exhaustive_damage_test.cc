// Flips every bit of a checkpoint of 64 KiB, and truncates each of its files at
// every byte, one change at a time: each must be found, and the file named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "checkpoint/directory.h"
#include "checkpoint/patchable_files_test.h"
#include "checkpoint/small_checkpoint_test.h"
#include "simulation/sim_file_system.h"
#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::capstan::testing::PatchableFiles;
using ::capstan::testing::StatusIs;
using ::testing::HasSubstr;

using absl::StatusCode::kDataLoss;
// Enough for all files together to have 64 KiB.
constexpr int64_t kRows = 1300;
constexpr size_t kLeastBytes = 65536;
constexpr std::string_view kPath = "ckpt-1";

// A checkpoint, and another of the same shapes from a later save.
std::unique_ptr<PatchableFiles> Saved() {
  SimFileSystem files;
  EXPECT_OK(testing::SaveSmall(files, "", {.seed = 1, .rows = kRows}));
  EXPECT_OK(testing::SaveSmall(files, "", {.seed = 2, .rows = kRows}));
  auto copy = std::make_unique<PatchableFiles>();
  EXPECT_OK(copy->CopyFrom(files, "ckpt-1"));
  EXPECT_OK(copy->CopyFrom(files, "ckpt-2"));
  return copy;
}

absl::Status OpenAndVerify(const FileSystem& files, std::string_view path) {
  const auto checkpoint = OpenCheckpoint(files, path);
  if (!checkpoint.ok()) return checkpoint.status();
  return VerifyCheckpoint(files, path, checkpoint->manifest);
}

// Each file is a separate test, so that the tests run in parallel.
class ExhaustiveDamageTest : public ::testing::TestWithParam<const char*> {
 protected:
  ExhaustiveDamageTest() : manifest_(OpenCheckpoint(*files_, kPath)->manifest) {
    EXPECT_OK(VerifyCheckpoint(*files_, kPath, manifest_));
  }

  std::string& content() {
    return files_->content().at(JoinPath(kPath, GetParam()));
  }

  // Whether the damage is found and its file named. The result of
  // OpenCheckpoint does not depend on the content of any file but the manifest,
  // so the manifest is parsed again only if it is the changed file.
  bool IsFound() const {
    const absl::Status status =
        GetParam() == kManifestName
            ? OpenCheckpoint(*files_, kPath).status()
            : VerifyCheckpoint(*files_, kPath, manifest_);
    return absl::IsDataLoss(status) &&
           status.message().find(GetParam()) != absl::string_view::npos;
  }

  std::unique_ptr<PatchableFiles> files_ = Saved();
  const Manifest manifest_;
};

TEST_P(ExhaustiveDamageTest, EveryBitFlipped) {
  std::string& bytes = content();
  size_t tried = 0;
  for (char& byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const char before = byte;
      byte = static_cast<char>(byte ^ 1 << bit);
      ++tried;
      ASSERT_TRUE(IsFound()) << "bit " << bit << " of byte "
                             << &byte - bytes.data() << " of " << GetParam();
      byte = before;
    }
  }
  EXPECT_EQ(tried, 8 * bytes.size());
  EXPECT_OK(OpenAndVerify(*files_, kPath));
  std::printf("%zu flips of %s found\n", tried, GetParam());
}

TEST_P(ExhaustiveDamageTest, CutAtEveryByte) {
  std::string& bytes = content();
  const std::string whole = bytes;
  for (size_t size = whole.size(); size-- > 0;) {
    bytes.resize(size);
    const absl::Status status = OpenCheckpoint(*files_, kPath).status();
    ASSERT_TRUE(absl::IsDataLoss(status) &&
                status.message().find(GetParam()) != absl::string_view::npos)
        << size << " of " << GetParam() << ": " << status;
    // A file that is truncated after the checkpoint was opened.
    ASSERT_TRUE(IsFound()) << size << " of " << GetParam();
  }
  bytes = whole;
  EXPECT_OK(OpenAndVerify(*files_, kPath));
  std::printf("%zu truncations of %s found\n", whole.size(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Files, ExhaustiveDamageTest,
                         ::testing::Values("manifest.json",
                                           "server-0.safetensors",
                                           "server-1.safetensors"),
                         [](const auto& file) {
                           const std::string_view name = file.param;
                           return name == kManifestName          ? "Manifest"
                                  : name.starts_with("server-0") ? "Server0"
                                                                 : "Server1";
                         });

TEST(MixedCheckpointTest, SizeIsAsPromised) {
  const auto saved = Saved();
  size_t bytes = 0;
  for (const auto& [path, content] : saved->content()) {
    if (path.starts_with(kPath)) bytes += content.size();
  }
  EXPECT_GE(bytes, kLeastBytes);
}

// Bit i of `of_second`: file i is from the second save. All three files of one
// save make a checkpoint; no mixture does.
TEST(MixedCheckpointTest, EveryMixtureIsRefused) {
  const std::vector<std::string> names = {
      "server-0.safetensors", "server-1.safetensors", "manifest.json"};
  const auto saved = Saved();
  for (unsigned of_second = 0; of_second < 8; ++of_second) {
    PatchableFiles mixed;
    for (unsigned i = 0; i < names.size(); ++i) {
      const bool second = (of_second >> i & 1) != 0;
      mixed.content()["mixed/" + names[i]] =
          saved->content().at((second ? "ckpt-2/" : "ckpt-1/") + names[i]);
    }
    const absl::Status status = OpenAndVerify(mixed, "mixed");
    if (of_second == 0 || of_second == 7) {
      EXPECT_OK(status);
      continue;
    }
    // The bad files are those not from the manifest's save.
    EXPECT_THAT(status, StatusIs(kDataLoss, HasSubstr("another checkpoint")));
    for (unsigned i = 0; i < 2; ++i) {
      const bool strange = (of_second >> i & 1) != (of_second >> 2);
      EXPECT_EQ(status.message().find(names[i]) != absl::string_view::npos,
                strange)
          << of_second << ": " << status;
    }
  }
}

TEST(MixedCheckpointTest, FilesOfOneSaveExchanged) {
  auto files = Saved();
  auto& content = files->content();
  std::swap(content.at("ckpt-1/server-0.safetensors"),
            content.at("ckpt-1/server-1.safetensors"));
  EXPECT_THAT(OpenAndVerify(*files, kPath),
              StatusIs(kDataLoss, HasSubstr("server-0.safetensors")));
}

}  // namespace
}  // namespace capstan
