#include "launch/task_host.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "testing/status_matchers.h"
#include "transport/inproc/inproc_network.h"

namespace capstan {
namespace {

TEST(TaskHostTest, RaisesTheLimitOfOpenFiles) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {.rlim_cur = 128, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  TaskOptions options;
  const std::map<Role, std::vector<std::string>> addresses = {
      {Role::kChief, {"inproc:chief"}},
      {Role::kWorker, {"inproc:worker"}},
      {Role::kPs, {"inproc:ps"}}};
  options.cluster.spec = ClusterSpec(addresses);
  options.cluster.task = TaskId{Role::kPs, 0};
  const auto host =
      TaskHost::Create(options, std::make_shared<InprocNetwork>());
  rlimit after = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_OK(host);
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(65'536, before.rlim_max));
}

}  // namespace
}  // namespace capstan
