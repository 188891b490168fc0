#include "launch/security/tls_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using absl::StatusCode::kNotFound;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::TempDir;

class TlsDirectoryTest : public ::testing::Test {
 protected:
  void Touch(const std::string& name) {
    std::ofstream(directory_ / name) << "x";
  }

  absl::StatusOr<TlsOptions> Find(TaskId task) {
    return FindTlsFiles(directory_.path(), task);
  }

  const TempDir directory_;
};

TEST_F(TlsDirectoryTest, TheTasksOwnCertificateComesFirst) {
  for (const char* name :
       {"ca.pem", "worker.pem", "worker.key", "worker-3.pem", "worker-3.key"}) {
    Touch(name);
  }
  const absl::StatusOr<TlsOptions> own = Find({Role::kWorker, 3});
  ASSERT_OK(own);
  EXPECT_EQ(own->ca_file, directory_ / "ca.pem");
  EXPECT_EQ(own->certificate_file, directory_ / "worker-3.pem");
  EXPECT_EQ(own->key_file, directory_ / "worker-3.key");
  const absl::StatusOr<TlsOptions> role = Find({Role::kWorker, 4});
  ASSERT_OK(role);
  EXPECT_EQ(role->certificate_file, directory_ / "worker.pem");
  EXPECT_EQ(role->key_file, directory_ / "worker.key");
}

TEST_F(TlsDirectoryTest, WhatIsMissingIsNamedWithTheRemedy) {
  const std::string make = "capstan certs " + directory_.path();
  EXPECT_THAT(Find({Role::kPs, 0}),
              StatusIs(kNotFound, AllOf(HasSubstr(directory_ / "ca.pem"),
                                        HasSubstr(make))));
  Touch("ca.pem");
  EXPECT_THAT(Find({Role::kPs, 0}),
              StatusIs(kNotFound, AllOf(HasSubstr(directory_ / "ps.pem"),
                                        HasSubstr(make + " --add"))));
  Touch("ps.pem");
  EXPECT_THAT(Find({Role::kPs, 0}),
              StatusIs(kNotFound, AllOf(HasSubstr(directory_ / "ps.key"),
                                        HasSubstr(make + " --add"))));
  Touch("ps.key");
  EXPECT_OK(Find({Role::kPs, 0}));
}

TEST_F(TlsDirectoryTest, AnOwnCertificateNeedsItsOwnKey) {
  for (const char* name : {"ca.pem", "ps.pem", "ps.key", "ps-0.pem"}) {
    Touch(name);
  }
  EXPECT_THAT(Find({Role::kPs, 0}),
              StatusIs(kNotFound, HasSubstr(directory_ / "ps-0.key")));
}

TEST_F(TlsDirectoryTest, AMissingDirectoryIsLikeAnEmptyOne) {
  EXPECT_THAT(FindTlsFiles(directory_ / "absent", {Role::kPs, 0}),
              StatusIs(kNotFound, HasSubstr("absent/ca.pem")));
}

TEST_F(TlsDirectoryTest, PeopleAreAdmin) {
  Touch("ca.pem");
  EXPECT_THAT(FindAdminTlsFiles(directory_.path()),
              StatusIs(kNotFound, HasSubstr("admin.pem")));
  Touch("admin.pem");
  Touch("admin.key");
  EXPECT_OK(FindAdminTlsFiles(directory_.path()));
}

TEST_F(TlsDirectoryTest, LinksAreFollowed) {
  const TempDir secret;
  for (const char* name : {"ca.pem", "chief.pem", "chief.key"}) {
    std::ofstream(secret / name) << "x";
    std::filesystem::create_symlink(secret / name, directory_ / name);
  }
  EXPECT_OK(Find({Role::kChief, 0}));
  std::filesystem::remove(secret / "chief.key");
  EXPECT_THAT(Find({Role::kChief, 0}),
              StatusIs(kNotFound, HasSubstr("chief.key")));
}

}  // namespace
}  // namespace capstan
