#include "launch/security/make_certificates.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/async/real_clock.h"
#include "launch/security/job_token.h"
#include "launch/security/tls_directory.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "transport/tls/tls_context.h"
#include "transport/tls/tls_credentials.h"

namespace capstan {
namespace {

using absl::StatusCode::kAlreadyExists;
using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;
using testing::TempDir;

class MakeCertificatesTest : public ::testing::Test {
 protected:
  MakeCertificatesTest() { options_.directory = parent_ / "tls"; }

  absl::StatusOr<MadeCertificates> Make() {
    return MakeCertificates(options_, clock_);
  }

  std::string PathOf(const std::string& name) const {
    return options_.directory + "/" + name;
  }

  // Name and content of each file.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(options_.directory)) {
      std::ifstream stream(entry.path());
      files[entry.path().filename().string()] =
          std::string(std::istreambuf_iterator<char>(stream), {});
    }
    return files;
  }

  // The names in the certificate of `task`, once it has passed all checks.
  std::string NamesOf(TaskId task) {
    const absl::StatusOr<TlsOptions> files =
        FindTlsFiles(options_.directory, task);
    if (!files.ok()) return std::string(files.status().message());
    const absl::StatusOr<std::unique_ptr<TlsContext>> context =
        TlsContext::Load(clock_, *files);
    return context.ok() ? (*context)->credentials()->names
                        : std::string(context.status().message());
  }

  RealClock clock_;
  const TempDir parent_;
  MakeCertificatesOptions options_;
};

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST_F(MakeCertificatesTest, OneForEachRole) {
  const absl::StatusOr<MadeCertificates> made = Make();
  ASSERT_OK(made);
  EXPECT_THAT(made->names,
              ElementsAre("ca", "chief", "worker", "ps", "evaluator", "admin"));
  EXPECT_THAT(Files(), SizeIs(13));
  EXPECT_TRUE(made->token);
  EXPECT_OK(JobToken::Read(PathOf("token")));
  EXPECT_EQ(NamesOf({Role::kChief, 0}), "chief");
  EXPECT_EQ(NamesOf({Role::kWorker, 7}), "worker");
  EXPECT_EQ(NamesOf({Role::kPs, 0}), "ps");
  EXPECT_EQ(NamesOf({Role::kEvaluator, 0}), "evaluator");
  const absl::StatusOr<TlsOptions> admin =
      FindAdminTlsFiles(options_.directory);
  ASSERT_OK(admin);
  EXPECT_OK(TlsContext::Load(clock_, *admin));
}

TEST_F(MakeCertificatesTest, OneForEachTaskIfAskedFor) {
  options_.workers = 2;
  options_.ps = 1;
  ASSERT_OK(Make());
  EXPECT_EQ(NamesOf({Role::kWorker, 1}), "worker/1");
  EXPECT_EQ(NamesOf({Role::kWorker, 2}), "worker");
  EXPECT_EQ(NamesOf({Role::kPs, 0}), "ps/0");
}

TEST_F(MakeCertificatesTest, NobodyElseCanReadThem) {
  const mode_t before = ::umask(0);
  const absl::StatusOr<MadeCertificates> made = Make();
  ::umask(before);
  ASSERT_OK(made);
  EXPECT_EQ(ModeOf(options_.directory), 0700u);
  for (const auto& [name, text] : Files()) {
    EXPECT_EQ(ModeOf(PathOf(name)), 0600u) << name;
  }
}

TEST_F(MakeCertificatesTest, TheyHoldAsLongAsAskedFor) {
  options_.days = 30;
  const absl::StatusOr<MadeCertificates> made = Make();
  ASSERT_OK(made);
  const auto left = made->not_after - clock_.WallNow();
  EXPECT_LE(left, std::chrono::days(30));
  EXPECT_GT(left, std::chrono::days(30) - std::chrono::hours(1));
}

TEST_F(MakeCertificatesTest, NothingLivesLongerThanItsCa) {
  ASSERT_OK(Make());
  options_.add = true;
  options_.workers = 1;
  options_.days = 20'000;
  const absl::StatusOr<MadeCertificates> made = Make();
  ASSERT_OK(made);
  EXPECT_LE(made->not_after - clock_.WallNow(), std::chrono::days(3650));
  EXPECT_EQ(NamesOf({Role::kWorker, 0}), "worker/0");
}

TEST_F(MakeCertificatesTest, NothingIsOverwritten) {
  ASSERT_OK(Make());
  const auto before = Files();
  options_.workers = 2;
  EXPECT_THAT(Make(), StatusIs(kAlreadyExists,
                               AllOf(HasSubstr("ca.pem"), HasSubstr("--add"))));
  EXPECT_EQ(Files(), before);
}

TEST_F(MakeCertificatesTest, OneFileInTheWayStopsAllOfThem) {
  std::filesystem::create_directory(options_.directory);
  ASSERT_EQ(::chmod(options_.directory.c_str(), 0700), 0);
  std::ofstream(PathOf("ps.key")) << "precious";
  EXPECT_THAT(Make(), StatusIs(kAlreadyExists, HasSubstr("ps.key")));
  EXPECT_THAT(Files(), SizeIs(1));
}

TEST_F(MakeCertificatesTest, AddIssuesWhatIsMissing) {
  options_.job = "ctr";
  ASSERT_OK(Make());
  const auto before = Files();
  std::filesystem::remove(PathOf("worker.pem"));
  std::filesystem::remove(PathOf("worker.key"));
  options_.job.reset();
  options_.add = true;
  options_.ps = 1;
  const absl::StatusOr<MadeCertificates> made = Make();
  ASSERT_OK(made);
  EXPECT_THAT(made->names, ElementsAre("worker", "ps-0"));
  EXPECT_EQ(NamesOf({Role::kWorker, 0}), "worker");
  EXPECT_EQ(NamesOf({Role::kPs, 0}), "ps/0");
  for (const auto& [name, text] : before) {
    if (name.starts_with("worker")) continue;
    EXPECT_EQ(Files()[name], text) << name;
  }
  const absl::StatusOr<MadeCertificates> again = Make();
  ASSERT_OK(again);
  EXPECT_THAT(again->names, IsEmpty());
  EXPECT_FALSE(again->token);
}

TEST_F(MakeCertificatesTest, AddNeedsACa) {
  options_.add = true;
  EXPECT_THAT(Make(), StatusIs(kNotFound, HasSubstr("no CA")));
  options_.add = false;
  ASSERT_OK(Make());
  std::filesystem::remove(PathOf("ca.key"));
  options_.add = true;
  EXPECT_THAT(Make(), StatusIs(kFailedPrecondition, HasSubstr("ca.key")));
}

TEST_F(MakeCertificatesTest, AddIsForTheSameJob) {
  options_.job = "ctr";
  ASSERT_OK(Make());
  options_.add = true;
  EXPECT_OK(Make());
  options_.job = "ads";
  EXPECT_THAT(Make(), StatusIs(kInvalidArgument,
                               AllOf(HasSubstr("'ctr'"), HasSubstr("'ads'"))));
}

TEST_F(MakeCertificatesTest, ADirectoryThatOthersCanWriteIntoIsRefused) {
  std::filesystem::create_directory(options_.directory);
  for (const mode_t mode : {0720, 0702, 0777}) {
    ASSERT_EQ(::chmod(options_.directory.c_str(), mode), 0);
    EXPECT_THAT(Make(), StatusIs(kFailedPrecondition, HasSubstr("chmod 700")));
  }
  ASSERT_EQ(::chmod(options_.directory.c_str(), 0755), 0);
  EXPECT_OK(Make());
}

TEST_F(MakeCertificatesTest, ThePathMayBeWrittenInAnyWay) {
  for (const char* name : {"a/", "b/.", "./c", "d//"}) {
    options_.directory = parent_ / name;
    EXPECT_OK(Make()) << name;
  }
  options_.directory = parent_ / "no/such/parent";
  EXPECT_THAT(Make(), StatusIs(kNotFound, HasSubstr("no/such")));
}

TEST_F(MakeCertificatesTest, OptionsOutOfRangeAreRefused) {
  for (const int days : {0, -1, MakeCertificatesOptions::kMaxDays + 1}) {
    options_.days = days;
    EXPECT_THAT(Make(), StatusIs(kInvalidArgument, HasSubstr("days")));
  }
  options_.days = 1;
  options_.workers = -1;
  EXPECT_THAT(Make(), StatusIs(kInvalidArgument, HasSubstr("tasks")));
  options_.workers = 0;
  options_.job = "";
  EXPECT_THAT(Make(), StatusIs(kInvalidArgument, HasSubstr("empty")));
  options_.job = std::string(65, 'x');
  EXPECT_THAT(Make(), StatusIs(kInvalidArgument, HasSubstr("64")));
}

TEST_F(MakeCertificatesTest, TokenIsNeverOverwritten) {
  std::filesystem::create_directory(options_.directory);
  std::filesystem::permissions(options_.directory,
                               std::filesystem::perms::owner_all);
  std::ofstream(PathOf("token")) << "mine";
  EXPECT_THAT(Make(), StatusIs(kAlreadyExists, HasSubstr("token")));
  EXPECT_THAT(Files(), SizeIs(1));
}

}  // namespace
}  // namespace capstan
