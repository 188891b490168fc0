#include "launch/security/watch_tls.h"

#include <gtest/gtest.h>

#include <asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "base/async/real_clock.h"
#include "launch/security/make_certificates.h"
#include "launch/security/tls_directory.h"
#include "simulation/sim_clock.h"
#include "testing/log_capture.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using std::chrono::seconds;

class WatchTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Make();
    const absl::StatusOr<TlsOptions> files =
        FindTlsFiles(directory_, {Role::kPs, 0});
    ASSERT_OK(files);
    absl::StatusOr<std::unique_ptr<TlsContext>> loaded =
        TlsContext::Load(clock_, *files);
    ASSERT_OK(loaded);
    tls_ = *std::move(loaded);
    Spawn(context_->get_executor(),
          WatchTls(clock_, context_->get_executor(), log_.NewLogger(), *tls_,
                   seconds(10)));
  }

  // Issues missing certificates, from a CA that is created if there is none.
  void Make() {
    MakeCertificatesOptions options;
    options.directory = directory_;
    options.add = std::filesystem::exists(directory_);
    ASSERT_OK(MakeCertificates(options, clock_));
  }
  void Remove(const std::string& name) {
    std::filesystem::remove(directory_ + "/" + name);
  }

  void Advance(Duration time) {
    const MonotonicTime end = clock_.Now() + time;
    Poll();
    while (clock_.NextTime() <= end) {
      clock_.RunNext();
      Poll();
    }
    clock_.AdvanceTo(end);
  }
  void Poll() {
    context_->restart();
    context_->poll();
  }

  const testing::TempDir temp_;
  const std::string directory_ = temp_ / "tls";
  LogCapture log_;
  SimClock clock_{RealClock().WallNow()};
  std::unique_ptr<TlsContext> tls_;
  const std::unique_ptr<asio::io_context> context_ =
      std::make_unique<asio::io_context>(1);
};

TEST_F(WatchTlsTest, NothingIsDoneWhileNothingChanges) {
  const auto before = tls_->credentials();
  Advance(seconds(100));
  EXPECT_EQ(tls_->credentials(), before);
  EXPECT_EQ(log_.Text(), "");
}

TEST_F(WatchTlsTest, NewFilesAreUsedAfterTheInterval) {
  const auto before = tls_->credentials();
  Advance(seconds(5));
  Remove("ps.pem");
  Remove("ps.key");
  Make();
  Advance(seconds(4));
  EXPECT_EQ(tls_->credentials(), before);
  Advance(seconds(2));
  EXPECT_NE(tls_->credentials(), before);
  ASSERT_EQ(log_.Records().size(), 1u) << log_.Text();
  EXPECT_EQ(log_.Records()[0].level, LogLevel::kInfo);
  EXPECT_TRUE(log_.Contains("new certificates are in use, valid until 20"));
}

TEST_F(WatchTlsTest, BrokenFilesChangeNothingAndAreSaidOnce) {
  const auto before = tls_->credentials();
  std::ofstream(directory_ + "/ps.pem") << "half a file";
  Advance(seconds(100));
  EXPECT_EQ(tls_->credentials(), before);
  ASSERT_EQ(log_.Records().size(), 1u) << log_.Text();
  EXPECT_EQ(log_.Records()[0].level, LogLevel::kWarning);
  EXPECT_TRUE(log_.Contains("ps.pem"));
  Remove("ps.pem");
  Remove("ps.key");
  Make();
  Advance(seconds(10));
  EXPECT_NE(tls_->credentials(), before);
  EXPECT_EQ(log_.Records().size(), 2u) << log_.Text();
}

}  // namespace
}  // namespace capstan
