#include "wire/hello.h"

#include "absl/strings/str_cat.h"
#include "wire/wire.pb.h"

namespace capstan {
namespace {

constexpr size_t kMaxNameBytes = 256;

absl::Status CheckName(const char* field, const std::string& value) {
  if (value.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("hello with a ", field, " of ", value.size(),
                     " bytes; the limit is ", kMaxNameBytes));
  }
  for (const char c : value) {
    // Names end up in logs: nothing that could forge or garble a line.
    if (c < 0x20 || c > 0x7e) {
      return absl::InvalidArgumentError(
          absl::StrCat("hello with an unprintable character in its ", field));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string TaskName(const Hello& hello) {
  return absl::StrCat(hello.role, "/", hello.index);
}

std::string EncodeHello(const Hello& hello) {
  wire::HelloMessage message;
  message.set_version(hello.version);
  message.set_job(hello.job);
  message.set_role(hello.role);
  message.set_index(hello.index);
  message.set_incarnation(hello.incarnation);
  message.set_session(hello.session);
  message.set_lane(static_cast<uint32_t>(hello.lane));
  message.set_token(hello.token);
  return message.SerializeAsString();
}

absl::StatusOr<Hello> DecodeHello(std::string_view bytes) {
  wire::HelloMessage message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("hello that cannot be parsed");
  }
  Hello hello;
  hello.version = message.version();
  hello.job = message.job();
  hello.role = message.role();
  hello.index = message.index();
  hello.incarnation = message.incarnation();
  hello.session = message.session();
  if (absl::Status s = CheckName("version", hello.version); !s.ok()) return s;
  if (absl::Status s = CheckName("job", hello.job); !s.ok()) return s;
  if (absl::Status s = CheckName("role", hello.role); !s.ok()) return s;
  if (message.lane() > static_cast<uint32_t>(Lane::kBulk)) {
    return absl::InvalidArgumentError(
        absl::StrCat("hello for unknown lane ", message.lane()));
  }
  hello.lane = static_cast<Lane>(message.lane());
  if (!message.token().empty() &&
      message.token().size() != Hello::kTokenBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("hello with a token of ", message.token().size(),
                     " bytes instead of ", Hello::kTokenBytes));
  }
  hello.token = message.token();
  return hello;
}

absl::Status CheckHello(const Hello& ours, const Hello& theirs,
                        std::string_view expected) {
  if (ours.job != theirs.job) {
    return absl::FailedPreconditionError(
        absl::StrCat(TaskName(ours), " belongs to job '", ours.job, "', but ",
                     TaskName(theirs), " belongs to job '", theirs.job,
                     "': check the address, or give both the same job id"));
  }
  if (ours.version != theirs.version) {
    return absl::FailedPreconditionError(
        absl::StrCat(TaskName(ours), " runs version ", ours.version, ", but ",
                     TaskName(theirs), " runs version ", theirs.version,
                     ": start all tasks from the same build"));
  }
  if (!expected.empty() && TaskName(theirs) != expected) {
    return absl::FailedPreconditionError(absl::StrCat(
        "expected ", std::string(expected), " at this address, but ",
        TaskName(theirs), " answers there: check the cluster description"));
  }
  return absl::OkStatus();
}

}  // namespace capstan
