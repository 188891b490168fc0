#include "simulate/requests/request_plan.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/hash.h"
#include "base/random.h"

namespace capstan::simulate {
namespace {

constexpr size_t kTokenBytes = 8;
// Attachments of at most this many bytes in total are sent with their message.
constexpr int64_t kInline = 64 << 10;

// Little-endian, so that a pattern is the same on every machine.
std::array<std::byte, 8> ToBytes(uint64_t word) {
  std::array<std::byte, 8> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(word >> (8 * i));
  }
  return bytes;
}

// All patterns are parts of one long random tape, because copying and comparing
// cost far less than generating bytes. Its length is prime, so that it does not
// repeat in step with pieces or buffers; and it stays in the cache.
constexpr size_t kTapeBytes = 262'139;

const std::vector<std::byte>& Tape() {
  static const std::vector<std::byte> tape = [] {
    std::vector<std::byte> bytes;
    Random random(0x7a9e);
    while (bytes.size() < kTapeBytes) {
      const std::array<std::byte, 8> word = ToBytes(random.NextU64());
      bytes.insert(bytes.end(), word.begin(), word.end());
    }
    bytes.resize(kTapeBytes);
    return bytes;
  }();
  return tape;
}

// Calls `visit` with the stretches of the tape that make up `size` bytes of a
// part starting at `offset`, until it returns false.
template <typename Visit>
void VisitTape(uint64_t token, uint64_t part, size_t offset, size_t size,
               Visit visit) {
  const std::array<std::byte, 8> words[] = {ToBytes(token), ToBytes(part)};
  const uint64_t start = Hash64(std::as_bytes(std::span(words)));
  size_t at = static_cast<size_t>((start % kTapeBytes + offset) % kTapeBytes);
  while (size > 0) {
    const Bytes stretch =
        Bytes(Tape()).subspan(at, std::min(size, kTapeBytes - at));
    if (!visit(stretch)) return;
    size -= stretch.size();
    at = 0;
  }
}

size_t SizeBetween(Random& random, int64_t low, int64_t high) {
  return static_cast<size_t>(random.Between(low, high));
}

std::vector<size_t> DrawSizes(Random& random, const PlanOptions& options) {
  std::vector<size_t> sizes;
  if (random.Chance(options.large)) {
    // Over 64 KiB in total; sometimes as several attachments.
    sizes.push_back(SizeBetween(random, kInline + 1,
                                static_cast<int64_t>(options.max_large)));
    while (random.Chance(0.3)) {
      sizes.push_back(SizeBetween(random, 0, 20'000));
    }
    return sizes;
  }
  switch (random.Below(8)) {
    case 0:  // as much as fits beside the message, or nearly
      sizes.push_back(SizeBetween(random, kInline - 3, kInline));
      break;
    case 1:  // many small ones, some empty
      for (int64_t i = random.Between(17, 70); i > 0; --i) {
        sizes.push_back(SizeBetween(random, 0, 60));
      }
      break;
    case 2:  // a few medium-sized ones
      for (int64_t i = random.Between(1, 6); i > 0; --i) {
        sizes.push_back(SizeBetween(random, 0, 9000));
      }
      break;
    case 3:
    case 4:
      sizes.push_back(SizeBetween(random, 0, 1500));
      break;
    default:
      break;
  }
  return sizes;
}

void PlanService(Random& random, const PlanOptions& options,
                 RequestPlan& plan) {
  plan.receive = random.Chance(0.6)
                     ? RequestPlan::Receive::kAll
                     : static_cast<RequestPlan::Receive>(random.Below(4));
  // Most answers come immediately, some after those to later requests.
  const int64_t most = options.max_service_time.count();
  if (random.Chance(0.6)) plan.service_time = Duration(random.Between(0, most));
  plan.heeds_cancel = random.Chance(0.5);
  if (random.Chance(options.errors)) {
    plan.error = random.Chance(0.5) ? absl::StatusCode::kNotFound
                                    : absl::StatusCode::kAborted;
  }
  plan.reply_body_bytes = SizeBetween(random, 0, 300);
  plan.reply_attachments = DrawSizes(random, options);
}

void PlanCaller(Random& random, const PlanOptions& options, RequestPlan& plan) {
  plan.timeout = random.Chance(options.short_deadlines)
                     ? Duration(random.Between(1, 150'000'000))
                     : Duration(random.Between(options.timeout.count() / 2,
                                               options.timeout.count()));
  if (random.Chance(options.cancelled)) {
    plan.cancel_after = Duration(random.Between(0, 120'000'000));
  }
  plan.in_place = random.Chance(0.5);
  const bool has_bytes =
      std::any_of(plan.reply_attachments.begin(), plan.reply_attachments.end(),
                  [](size_t size) { return size > 0; });
  plan.too_little_room = has_bytes && random.Chance(0.03);
}

}  // namespace

RequestPlan Planner::Plan(uint64_t token) const {
  Random random(seed_, token);
  RequestPlan plan;
  plan.token = token;
  plan.body_bytes = SizeBetween(random, 0, random.Chance(0.05) ? 20'000 : 300);
  plan.attachments = DrawSizes(random, options_);
  PlanService(random, options_, plan);
  PlanCaller(random, options_, plan);
  return plan;
}

void FillPattern(uint64_t token, uint64_t part, MutableBytes out) {
  VisitTape(token, part, 0, out.size(), [&out](Bytes stretch) {
    std::memcpy(out.data(), stretch.data(), stretch.size());
    out = out.subspan(stretch.size());
    return true;
  });
}

bool HasPattern(uint64_t token, uint64_t part, size_t offset, Bytes bytes) {
  bool right = true;
  VisitTape(token, part, offset, bytes.size(), [&](Bytes stretch) {
    right = std::memcmp(bytes.data(), stretch.data(), stretch.size()) == 0;
    bytes = bytes.subspan(stretch.size());
    return right;
  });
  return right;
}

std::string MakeBody(uint64_t token, uint64_t part, size_t padding) {
  std::string body(kTokenBytes + padding, '\0');
  const MutableBytes bytes =
      std::as_writable_bytes(std::span(body.data(), body.size()));
  const std::array<std::byte, 8> word = ToBytes(token);
  std::memcpy(bytes.data(), word.data(), kTokenBytes);
  FillPattern(token, part, bytes.subspan(kTokenBytes));
  return body;
}

std::optional<uint64_t> TokenOf(std::string_view body) {
  if (body.size() < kTokenBytes) return std::nullopt;
  uint64_t token = 0;
  for (size_t i = kTokenBytes; i-- > 0;) {
    token = token << 8 | static_cast<uint8_t>(body[i]);
  }
  return token;
}

}  // namespace capstan::simulate
