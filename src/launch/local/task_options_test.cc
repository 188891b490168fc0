#include "launch/local/task_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(TaskOptionsTest, NothingSetIsTheDefault) {
  const TaskOptions options = ReadTaskOptions(Environment(), {}).value();
  EXPECT_EQ(options.listen, "");
  EXPECT_EQ(options.tls_directory, "");
  EXPECT_FALSE(options.insecure_network);
  EXPECT_EQ(options.start_timeout, std::chrono::seconds(120));
  EXPECT_EQ(options.threads, 0);
  EXPECT_EQ(options.memory_bytes, 0);
  EXPECT_EQ(options.checkpoint_root, "");
}

TEST(TaskOptionsTest, EverythingCanBeSet) {
  const TaskOptions options =
      ReadTaskOptions(Environment::Of({{"CAPSTAN_LISTEN", "0.0.0.0:7077"},
                                       {"CAPSTAN_TLS", "/keys"},
                                       {"CAPSTAN_TLS_RELOAD", "6"},
                                       {"CAPSTAN_TOKEN", "/token"},
                                       {"CAPSTAN_INSECURE_NETWORK", "1"},
                                       {"CAPSTAN_LOG_LEVEL", "error"},
                                       {"CAPSTAN_THREADS", "3"},
                                       {"CAPSTAN_MEMORY", "4000"},
                                       {"CAPSTAN_CHECKPOINT_DIR", "/saved"},
                                       {"CAPSTAN_OVER_FILE", "/run/over"},
                                       {"CAPSTAN_START_TIMEOUT", "7"},
                                       {"CAPSTAN_RETURN_TIMEOUT", "8"}}),
                      {})
          .value();
  EXPECT_EQ(options.listen, "0.0.0.0:7077");
  EXPECT_EQ(options.tls_directory, "/keys");
  EXPECT_EQ(options.token_file, "/token");
  EXPECT_TRUE(options.insecure_network);
  EXPECT_EQ(options.log_level, LogLevel::kError);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.memory_bytes, 4'000'000'000);
  EXPECT_EQ(options.checkpoint_root, "/saved");
  EXPECT_EQ(options.over_file, "/run/over");
  EXPECT_EQ(options.start_timeout, std::chrono::seconds(7));
  EXPECT_EQ(options.return_timeout, std::chrono::seconds(8));
  EXPECT_EQ(options.tls_reload, std::chrono::seconds(6));
}

TEST(TaskOptionsTest, WrongValuesNameTheVariable) {
  for (const auto& [name, value] :
       {std::pair("CAPSTAN_INSECURE_NETWORK", "yes"),
        std::pair("CAPSTAN_LOG_LEVEL", "loud"),
        std::pair("CAPSTAN_THREADS", "0"), std::pair("CAPSTAN_MEMORY", "4GB"),
        std::pair("CAPSTAN_START_TIMEOUT", "-1"),
        std::pair("CAPSTAN_RETURN_TIMEOUT", "soon"),
        std::pair("CAPSTAN_TLS_RELOAD", "0")}) {
    EXPECT_THAT(ReadTaskOptions(Environment::Of({{name, value}}), {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
  }
}

}  // namespace
}  // namespace capstan
