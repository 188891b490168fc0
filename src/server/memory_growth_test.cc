// How much memory a server uses after many operations, in bytes that were
// allocated and not freed.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "testing/status_matchers.h"
#include "testing/stepped_server.h"

namespace {

std::atomic<int64_t> live_bytes = 0;

void* Count(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  return memory;
}

void Free(void* memory) {
  live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

// For the whole test program; the other forms call these.
void* operator new(size_t size) { return Count(std::malloc(size)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return Count(std::malloc(size));
}
void* operator new(size_t size, std::align_val_t alignment) {
  const auto align = static_cast<size_t>(alignment);
  return Count(std::aligned_alloc(align, (size + align - 1) / align * align));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  Free(memory);
}

namespace capstan {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;
using testing::SteppedServer;

constexpr int kVariables = 100;

class MemoryGrowthTest : public ::testing::Test {
 protected:
  MemoryGrowthTest() {
    std::vector<VariableSpec> specs(kVariables);
    for (int i = 0; i < kVariables; ++i) {
      VariableSpec& spec = specs[static_cast<size_t>(i)];
      spec.name = absl::StrCat("v", i);
      spec.shape = {4};
      spec.optimizer = Sgd{.learning_rate = 1.0};
      names_.push_back(spec.name);
    }
    const ShardMap empty = ShardMap::Make(1, 0, 1, {}).value();
    map_ = AddVariables(empty, specs, FixedShards(1)).value();
    EXPECT_OK(server_.Install(map_, 1)->reply.status);
  }

  void SetRates(int times) {
    for (int i = 0; i < times; ++i) {
      map_ = SetLearningRate(map_, names_, 0.5 / (i + 1)).value();
      ASSERT_OK(server_.Install(map_, 1)->reply.status);
    }
  }

  // An update of all variables.
  SteppedServer::Call Push(uint64_t step) {
    ShardsRequest request;
    request.id.fence = {.generation = 1, .term = 1};
    request.id.step = step;
    request.map_version = map_.version();
    for (const VariableEntry& entry : map_.entries()) {
      request.parts.push_back({.key = {.variable = entry.id}});
    }
    return server_.Begin(
        "worker", Method::kPush, EncodeShardsRequest(request),
        std::vector<std::string>(request.parts.size(), std::string(16, '\0')));
  }

  void SetWatermark(uint64_t watermark) {
    WatermarkRequest request;
    request.fence = {.generation = 1, .term = 1};
    request.watermark = watermark;
    ASSERT_OK(
        server_
            .Send("chief", Method::kWatermark, EncodeWatermarkRequest(request))
            ->reply.status);
  }

  ShardMap map_;
  std::vector<std::string> names_;
  SteppedServer server_;
};

TEST_F(MemoryGrowthTest, MapsThatWereReplacedAreFreed) {
  SetRates(3);
  const int64_t before = live_bytes;
  SetRates(100);
  // A single one of these maps takes more.
  EXPECT_LT(live_bytes - before, 20'000);
}

// A call keeps the map that it began with, and no other.
TEST_F(MemoryGrowthTest, ACallInProgressKeepsItsMap) {
  const SteppedServer::Call push = Push(1);
  push->Arrived(10);
  server_.Run();
  SetRates(3);
  const int64_t before = live_bytes;
  SetRates(50);
  EXPECT_LT(live_bytes - before, 20'000);
  // Its shards are freed too, but not before it ends.
  map_ = DropVariables(map_, names_).value();
  ASSERT_OK(server_.Install(map_, 1)->reply.status);
  EXPECT_FALSE(push->answered);
  push->Arrived(SIZE_MAX);
  server_.Run();
  ASSERT_TRUE(push->answered);
  EXPECT_THAT(push->reply.status, StatusIs(absl::StatusCode::kAborted,
                                           HasSubstr("is not here any more")));
}

TEST_F(MemoryGrowthTest, TheRecordOfUpdatesFollowsWhatIsInFlight) {
  constexpr uint64_t kInFlight = 4;
  const int64_t before = live_bytes;
  for (uint64_t step = 1; step <= 1200; ++step) {
    const SteppedServer::Call push = Push(step);
    server_.Run();
    ASSERT_TRUE(push->answered);
    ASSERT_OK(push->reply.status);
    if (step > kInFlight) SetWatermark(step - kInFlight);
  }
  EXPECT_LT(live_bytes - before, kVariables * 1000);
}

}  // namespace
}  // namespace capstan
