// Checkpoints that are damaged, and directories that cannot be written to.
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "coordinator/checkpoint_helpers.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::IsError;
using testing::Job;
using testing::NamesIn;
using testing::TempDir;

constexpr std::int64_t kElements = 1 << 19;

class CheckpointFaultsTest : public ::testing::Test {
 protected:
  CheckpointFaultsTest() {
    job_.coordinator.CreateVariables({{.name = "w", .shape = {kElements}}},
                                     FixedShards(2));
  }

  void Fill(float value) {
    Tensor tensor = Tensor::Zeros(DType::kF32, {kElements});
    for (float& x : tensor.MutableValues<float>()) x = value;
    job_.coordinator.Assign("w", tensor);
  }
  // The value that all elements have.
  float Value() {
    const std::vector<float> values = job_.Floats("w");
    EXPECT_EQ(std::count(values.begin(), values.end(), values[0]), kElements);
    return values[0];
  }
  void Save(CheckpointManager& manager, float value) {
    Fill(value);
    manager.Save();
    manager.Wait();
  }
  std::string FileOf(const std::string& checkpoint) const {
    return dir_ / (checkpoint + "/server-1.safetensors");
  }

  const TempDir dir_;
  Job job_{Definitions(), 1, 2};
};

TEST_F(CheckpointFaultsTest, ATruncatedOneIsPassedOver) {
  CheckpointManager manager(job_.coordinator, dir_.path());
  Save(manager, 1);
  Save(manager, 2);
  fs::resize_file(FileOf("ckpt-2"), fs::file_size(FileOf("ckpt-2")) - 1);
  EXPECT_EQ(manager.latest(), "ckpt-1");
  EXPECT_THAT(ErrorOf([&] { manager.Restore({.name = "ckpt-2"}); }),
              IsError(ErrorCode::kDataLoss, HasSubstr("server-1.safetensors")));
  EXPECT_EQ(Value(), 2);
  const RestoreReport report = manager.Restore();
  EXPECT_EQ(report.name, "ckpt-1");
  EXPECT_THAT(report.damaged,
              ElementsAre(AllOf(HasSubstr("ckpt-2"),
                                HasSubstr("server-1.safetensors"))));
  EXPECT_EQ(Value(), 1);
}

TEST_F(CheckpointFaultsTest, OneWithAWrongBitIsPassedOver) {
  CheckpointManager manager(job_.coordinator, dir_.path());
  Save(manager, 1);
  Save(manager, 2);
  Fill(3);
  {
    std::fstream file(FileOf("ckpt-2"),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(
        static_cast<std::streamoff>(fs::file_size(FileOf("ckpt-2")) - 9));
    file.put('\x55');
  }
  // Nothing is restored of it, though half of its files are good.
  EXPECT_THAT(
      ErrorOf([&] { manager.Restore({.name = "ckpt-2"}); }),
      IsError(ErrorCode::kDataLoss,
              AllOf(HasSubstr("server-1.safetensors"), HasSubstr("w["))));
  EXPECT_EQ(Value(), 3);
  const RestoreReport report = manager.Restore();
  EXPECT_EQ(report.name, "ckpt-1");
  EXPECT_THAT(report.damaged, ElementsAre(HasSubstr("server-1.safetensors")));
  EXPECT_EQ(Value(), 1);
}

TEST_F(CheckpointFaultsTest, IfNoneIsWholeThatIsSaid) {
  CheckpointManager manager(job_.coordinator, dir_.path());
  Save(manager, 1);
  fs::remove(dir_ / "ckpt-1/manifest.json");
  EXPECT_THAT(ErrorOf([&] { manager.Restore(); }),
              IsError(ErrorCode::kDataLoss, AllOf(HasSubstr("no checkpoint in"),
                                                  HasSubstr("ckpt-1"))));
  EXPECT_EQ(Value(), 1);
}

// Whatever is wrong there is no damage, and the newest work is in it.
TEST_F(CheckpointFaultsTest, OneThatCannotBeOpenedIsNotPassedOver) {
  CheckpointManager manager(job_.coordinator, dir_.path());
  Save(manager, 1);
  Save(manager, 2);
  Fill(3);
  fs::rename(dir_ / "ckpt-2/manifest.json", dir_ / "moved");
  fs::create_symlink("../moved", dir_ / "ckpt-2/manifest.json");
  const auto refused =
      IsError(ErrorCode::kFailedPrecondition, HasSubstr("ckpt-2"));
  EXPECT_THAT(ErrorOf([&] { manager.Restore(); }), refused);
  EXPECT_THAT(ErrorOf([&] { manager.latest(); }), refused);
  EXPECT_EQ(Value(), 3);
  // Nor if there are damaged ones before it.
  fs::create_directory(dir_ / "ckpt-3");
  EXPECT_THAT(ErrorOf([&] { manager.Restore(); }), refused);
  EXPECT_THAT(ErrorOf([&] { manager.latest(); }), refused);
  EXPECT_EQ(manager.Restore({.name = "ckpt-1"}).name, "ckpt-1");
}

TEST_F(CheckpointFaultsTest, ADirectoryThatIsMissingIsMadeForItsOwnerAlone) {
  const CheckpointManager manager(job_.coordinator, dir_ / "runs/a");
  for (const char* made : {"runs", "runs/a"}) {
    EXPECT_EQ(fs::status(dir_ / made).permissions(), fs::perms::owner_all);
  }
}

TEST_F(CheckpointFaultsTest, ADirectoryThatIsGoneHarmsNoTraining) {
  const std::string directory = dir_ / "saved";
  CheckpointManager manager(job_.coordinator, directory);
  Save(manager, 1);
  // Root may write whatever the permissions are, but not here.
  fs::remove_all(directory);
  Fill(2);
  // At once, or when it is written.
  const Error error = ErrorOf([&] {
    manager.Save();
    manager.Wait();
  });
  EXPECT_THAT(std::string(error.what()), HasSubstr(directory));
  EXPECT_EQ(Value(), 2);
  CheckpointManager next(job_.coordinator, directory);
  Save(next, 3);
  EXPECT_THAT(NamesIn(directory), ElementsAre("ckpt-1"));
}

TEST_F(CheckpointFaultsTest, ADirectoryThatIsAFileIsNamed) {
  const std::string directory = dir_ / "saved";
  { std::ofstream file(directory); }
  EXPECT_THAT(std::string(ErrorOf([&] {
                            CheckpointManager(job_.coordinator, directory);
                          }).what()),
              HasSubstr(directory));
}

// Files cannot become larger than that while it lives, as on a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int) = nullptr;
};

TEST_F(CheckpointFaultsTest, AFullDiskIsSaidByWaitAndHarmsNothing) {
  CheckpointManager manager(job_.coordinator, dir_.path(), {.max_to_keep = 1});
  Save(manager, 1);
  {
    const SmallFiles small(kElements);
    Fill(2);
    EXPECT_EQ(manager.Save(), "ckpt-2");
    // Training goes on.
    Fill(3);
    EXPECT_EQ(Value(), 3);
    EXPECT_THAT(std::string(ErrorOf([&] { manager.Wait(); }).what()),
                AllOf(HasSubstr("checkpoint 'ckpt-2'"), HasSubstr(dir_.path()),
                      HasSubstr("was not written")));
    // Once.
    manager.Wait();
    EXPECT_EQ(manager.TakeError(), std::nullopt);
    // Of several that fail, the last is told of.
    manager.Save();
    manager.Save();
    ErrorOf([&] { manager.Wait(); });
    manager.Wait();
  }
  EXPECT_THAT(NamesIn(dir_.path()), ElementsAre("ckpt-1"));
  manager.Restore();
  EXPECT_EQ(Value(), 1);
  Save(manager, 4);
  EXPECT_EQ(NamesIn(dir_.path()).size(), 1u);
  Fill(5);
  manager.Restore();
  EXPECT_EQ(Value(), 4);
}

}  // namespace
}  // namespace capstan
