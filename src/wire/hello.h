// Who is calling: the first message that two tasks exchange.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace capstan {

// Small requests and their answers use one lane, large ones another, so that
// neither a full socket buffer nor a slow reader holds up small requests.
enum class Lane : uint8_t { kSmall = 0, kBulk = 1 };

struct Hello {
  static constexpr size_t kTokenBytes = 32;

  std::string version;       // of the program, such as "0.1.0"
  std::string job;           // the job that the task belongs to
  std::string role;          // "chief", "worker", "ps", "evaluator"
  uint32_t index = 0;        // of the task within its role
  uint64_t incarnation = 0;  // random for each start of the process
  uint64_t session = 0;      // same for all lanes of a channel
  Lane lane = Lane::kSmall;
  // A secret shared by the tasks of the job, kTokenBytes long; or empty. It is
  // not kept for the peers of a connection, and never logged.
  std::string token;

  bool operator==(const Hello&) const = default;
};

// "worker/3".
std::string TaskName(const Hello& hello);

std::string EncodeHello(const Hello& hello);
// InvalidArgument if the bytes are not a hello or a field is out of range.
absl::StatusOr<Hello> DecodeHello(std::string_view bytes);

// Whether a task that was started as `ours` may talk to `theirs`:
// FailedPrecondition, naming both values, if job or version differ. `expected`
// names the task that the caller meant to reach, or is empty.
absl::Status CheckHello(const Hello& ours, const Hello& theirs,
                        std::string_view expected);

}  // namespace capstan
