#include "wire/frame.h"

#include <bit>
#include <cassert>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/checked_math.h"
#include "base/crc32c.h"

namespace capstan {
namespace {

// Offsets of the fields; docs/wire.md has the same table.
constexpr size_t kMagicAt = 0;
constexpr size_t kVersionAt = 4;
constexpr size_t kKindAt = 5;
constexpr size_t kCodeAt = 6;
constexpr size_t kRequestIdAt = 8;
constexpr size_t kTimeoutAt = 16;
constexpr size_t kAttachmentBytesAt = 24;
constexpr size_t kReplyLimitAt = 32;
constexpr size_t kBodyBytesAt = 40;
constexpr size_t kAttachmentCountAt = 44;
constexpr size_t kReservedAt = 48;
constexpr size_t kChecksumAt = 52;

// The body of a hello, welcome or refusal is at most this long.
constexpr uint32_t kMaxHandshakeBytes = 16 << 10;
constexpr uint16_t kMaxStatusCode = 16;

// Numbers are little-endian on the wire. Elsewhere they are stored byte by
// byte; GCC merges that into one instruction only at -O3.
template <typename T>
void Store(std::byte* at, T value) {
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(at, &value, sizeof(T));
  } else {
    for (size_t i = 0; i < sizeof(T); ++i) {
      at[i] = static_cast<std::byte>(value >> (8 * i));
    }
  }
}

template <typename T>
T Load(const std::byte* at) {
  T value = 0;
  if constexpr (std::endian::native == std::endian::little) {
    std::memcpy(&value, at, sizeof(T));
  } else {
    for (size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>(value |
                             static_cast<T>(static_cast<T>(at[i]) << (8 * i)));
    }
  }
  return value;
}

struct KindRules {
  const char* name;
  bool code, request_id, timeout, attachment_bytes, reply_limit, body;
  bool attachment_count;
};

// Which fields a kind has; the others must be zero.
std::optional<KindRules> RulesOf(uint8_t kind) {
  switch (static_cast<FrameKind>(kind)) {
    case FrameKind::kHello:
      return KindRules{"Hello", false, false, false, false, false, true, false};
    case FrameKind::kWelcome:
      return KindRules{"Welcome", false, false, false,
                       false,     false, true,  false};
    case FrameKind::kRefuse:
      return KindRules{"Refuse", true, false, false, false, false, true, false};
    case FrameKind::kRequest:
      return KindRules{"Request", true, true, true, true, true, true, true};
    case FrameKind::kResponse:
      return KindRules{"Response", true, true, false, true, false, true, true};
    case FrameKind::kData:
      return KindRules{"Data", false, true, false, true, false, false, false};
    case FrameKind::kAbort:
      return KindRules{"Abort", false, true, false, false, false, false, false};
    case FrameKind::kCancel:
      return KindRules{"Cancel", false, true,  false,
                       false,    false, false, false};
    case FrameKind::kPing:
      return KindRules{"Ping", false, false, false, false, false, false, false};
    case FrameKind::kPong:
      return KindRules{"Pong", false, false, false, false, false, false, false};
    case FrameKind::kGoodbye:
      return KindRules{"Goodbye", false, false, false,
                       false,     false, false, false};
  }
  return std::nullopt;
}

absl::Status Bad(const KindRules& rules, const char* field, uint64_t value,
                 absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(rules.name, " frame with ", field, " = ", value, ": ", why));
}

absl::Status CheckAbsent(const FrameHeader& header, const KindRules& rules) {
  struct Field {
    const char* name;
    bool allowed;
    uint64_t value;
  };
  const Field fields[] = {
      {"code", rules.code, header.code},
      {"request id", rules.request_id, header.request_id},
      {"timeout", rules.timeout, header.timeout_us},
      {"attachment bytes", rules.attachment_bytes, header.attachment_bytes},
      {"reply limit", rules.reply_limit, header.reply_limit},
      {"body bytes", rules.body, header.body_bytes},
      {"attachment count", rules.attachment_count, header.attachment_count},
  };
  for (const Field& field : fields) {
    if (!field.allowed && field.value != 0) {
      return Bad(rules, field.name, field.value, "this kind has no such field");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLimits(const FrameHeader& header, const KindRules& rules,
                         const FrameLimits& limits) {
  const bool handshake = header.kind == FrameKind::kHello ||
                         header.kind == FrameKind::kWelcome ||
                         header.kind == FrameKind::kRefuse;
  const uint32_t body_limit =
      handshake ? kMaxHandshakeBytes : limits.body_bytes;
  if (header.body_bytes > body_limit) {
    return Bad(rules, "body bytes", header.body_bytes,
               absl::StrCat("the limit is ", body_limit));
  }
  const uint64_t bytes_limit = header.kind == FrameKind::kData
                                   ? kMaxPieceBytes
                                   : limits.attachment_bytes;
  if (header.attachment_bytes > bytes_limit) {
    return Bad(rules, "attachment bytes", header.attachment_bytes,
               absl::StrCat("the limit is ", bytes_limit));
  }
  if (header.attachment_count > limits.attachment_count) {
    return Bad(rules, "attachment count", header.attachment_count,
               absl::StrCat("the limit is ", limits.attachment_count));
  }
  return absl::OkStatus();
}

absl::Status CheckValues(const FrameHeader& header, const KindRules& rules) {
  if ((header.kind == FrameKind::kResponse ||
       header.kind == FrameKind::kRefuse) &&
      header.code > kMaxStatusCode) {
    return Bad(rules, "code", header.code, "not a status code");
  }
  if (header.kind == FrameKind::kRefuse && header.code == 0) {
    return Bad(rules, "code", header.code, "a refusal is not OK");
  }
  if (header.kind == FrameKind::kRequest && header.timeout_us == 0) {
    return Bad(rules, "timeout", 0, "every request has a deadline");
  }
  if (header.kind == FrameKind::kData && header.attachment_bytes == 0) {
    return Bad(rules, "attachment bytes", 0, "a piece is not empty");
  }
  if (rules.attachment_count && header.attachment_count == 0 &&
      header.attachment_bytes != 0) {
    return Bad(rules, "attachment bytes", header.attachment_bytes,
               "but no attachments");
  }
  return absl::OkStatus();
}

}  // namespace

void EncodeHeader(const FrameHeader& header,
                  std::span<std::byte, kHeaderBytes> out) {
  std::byte* at = out.data();
  Store(at + kMagicAt, kFrameMagic);
  Store(at + kVersionAt, kProtocolVersion);
  Store(at + kKindAt, static_cast<uint8_t>(header.kind));
  Store(at + kCodeAt, header.code);
  Store(at + kRequestIdAt, header.request_id);
  Store(at + kTimeoutAt, header.timeout_us);
  Store(at + kAttachmentBytesAt, header.attachment_bytes);
  Store(at + kReplyLimitAt, header.reply_limit);
  Store(at + kBodyBytesAt, header.body_bytes);
  Store(at + kAttachmentCountAt, header.attachment_count);
  Store(at + kReservedAt, uint32_t{0});
  Store(at + kChecksumAt, Crc32c(Bytes(out).first(kChecksumAt)));
}

absl::StatusOr<FrameHeader> DecodeHeader(
    std::span<const std::byte, kHeaderBytes> in, const FrameLimits& limits) {
  const std::byte* at = in.data();
  const uint32_t magic = Load<uint32_t>(at + kMagicAt);
  if (magic != kFrameMagic) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "bad magic 0x%08x: the peer does not speak Capstan's protocol (or "
        "speaks TLS where plain was expected)",
        magic));
  }
  const uint8_t version = Load<uint8_t>(at + kVersionAt);
  if (version != kProtocolVersion) {
    return absl::InvalidArgumentError(absl::StrCat("protocol version ", version,
                                                   ", but this side speaks ",
                                                   kProtocolVersion));
  }
  const uint32_t checksum = Load<uint32_t>(at + kChecksumAt);
  if (checksum != Crc32c(Bytes(in).first(kChecksumAt))) {
    return absl::InvalidArgumentError("header checksum does not match");
  }
  const uint8_t kind = Load<uint8_t>(at + kKindAt);
  const std::optional<KindRules> rules = RulesOf(kind);
  if (!rules) {
    return absl::InvalidArgumentError(absl::StrCat("unknown kind ", kind));
  }
  FrameHeader header;
  header.kind = static_cast<FrameKind>(kind);
  header.code = Load<uint16_t>(at + kCodeAt);
  header.request_id = Load<uint64_t>(at + kRequestIdAt);
  header.timeout_us = Load<uint64_t>(at + kTimeoutAt);
  header.attachment_bytes = Load<uint64_t>(at + kAttachmentBytesAt);
  header.reply_limit = Load<uint64_t>(at + kReplyLimitAt);
  header.body_bytes = Load<uint32_t>(at + kBodyBytesAt);
  header.attachment_count = Load<uint32_t>(at + kAttachmentCountAt);
  if (const uint32_t reserved = Load<uint32_t>(at + kReservedAt);
      reserved != 0) {
    return Bad(*rules, "reserved field", reserved, "must be zero");
  }
  if (absl::Status s = CheckAbsent(header, *rules); !s.ok()) return s;
  if (absl::Status s = CheckLimits(header, *rules, limits); !s.ok()) return s;
  if (absl::Status s = CheckValues(header, *rules); !s.ok()) return s;
  return header;
}

uint64_t PrefixBytes(const FrameHeader& header) {
  return uint64_t{8} * header.attachment_count + header.body_bytes;
}

absl::StatusOr<std::vector<uint64_t>> DecodeLengths(const FrameHeader& header,
                                                    Bytes in) {
  assert(in.size() == size_t{8} * header.attachment_count);
  std::vector<uint64_t> lengths(header.attachment_count);
  uint64_t total = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    lengths[i] = Load<uint64_t>(in.data() + 8 * i);
    const std::optional<uint64_t> sum = CheckedAdd(total, lengths[i]);
    if (!sum || *sum > header.attachment_bytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "attachment ", i, " of ", lengths[i], " bytes exceeds the total of ",
          header.attachment_bytes));
    }
    total = *sum;
  }
  if (total != header.attachment_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("attachments of ", total, " bytes, but the header says ",
                     header.attachment_bytes));
  }
  return lengths;
}

std::string EncodeHead(FrameHeader header, std::string_view body,
                       std::span<const Bytes> attachments) {
  header.body_bytes = static_cast<uint32_t>(body.size());
  header.attachment_count = static_cast<uint32_t>(attachments.size());
  header.attachment_bytes = TotalSize(attachments);
  const size_t table = 8 * attachments.size();
  std::string head(kHeaderBytes + table + body.size(), '\0');
  auto* at = reinterpret_cast<std::byte*>(head.data());
  EncodeHeader(header, std::span<std::byte, kHeaderBytes>(at, kHeaderBytes));
  for (size_t i = 0; i < attachments.size(); ++i) {
    Store(at + kHeaderBytes + 8 * i, uint64_t{attachments[i].size()});
  }
  if (!body.empty()) {
    std::memcpy(at + kHeaderBytes + table, body.data(), body.size());
  }
  return head;
}

std::string ToString(const FrameHeader& header) {
  const std::optional<KindRules> rules =
      RulesOf(static_cast<uint8_t>(header.kind));
  std::string text = rules ? rules->name : "Unknown";
  if (!rules) return text;
  if (rules->request_id) absl::StrAppend(&text, " id=", header.request_id);
  if (rules->code) absl::StrAppend(&text, " code=", header.code);
  if (rules->timeout) absl::StrAppend(&text, " timeout_us=", header.timeout_us);
  if (rules->body) absl::StrAppend(&text, " body=", header.body_bytes);
  if (rules->attachment_count) {
    absl::StrAppend(&text, " attachments=", header.attachment_count);
  }
  if (rules->attachment_bytes) {
    absl::StrAppend(&text, " bytes=", header.attachment_bytes);
  }
  if (rules->reply_limit) {
    absl::StrAppend(&text, " reply_limit=", header.reply_limit);
  }
  return text;
}

}  // namespace capstan
