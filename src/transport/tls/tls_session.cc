#include "transport/tls/tls_session.h"

#include <openssl/err.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/tls/tls_error.h"
#include "transport/view_cursor.h"

namespace capstan {
namespace {

// The maximum plain text in one record.
constexpr size_t kRecordBytes = SSL3_RT_MAX_PLAIN_LENGTH;
// What a record adds to its plain text: header, type and tag, in bytes.
constexpr size_t kRecordOverhead = 5 + 1 + 16;
// Output memory that an idle session keeps; less would cost allocations.
constexpr size_t kIdleOutputBytes = 16 << 10;

// The most that encrypting `plain` bytes adds to the output.
size_t EncryptedSize(size_t plain) {
  return plain + (plain / kRecordBytes + 2) * kRecordOverhead;
}

// Copies the first bytes of the views, at most a record's worth, to `place`.
Bytes Gather(ViewCursor<Bytes> from, std::byte* place) {
  size_t size = 0;
  while (size < kRecordBytes && from.remaining() > 0) {
    const Bytes part =
        from.front().first(std::min(from.front().size(), kRecordBytes - size));
    std::memcpy(place + size, part.data(), part.size());
    size += part.size();
    from.Advance(part.size());
  }
  return {place, size};
}

}  // namespace

// A BIO is OpenSSL's stream interface. This one reads from input_ and appends
// to output_, without the copies that OpenSSL's own memory BIOs make.
struct TlsSession::Bio {
  static TlsSession& SessionOf(BIO* bio) {
    return *static_cast<TlsSession*>(BIO_get_data(bio));
  }

  static int Read(BIO* bio, char* data, size_t size, size_t* count) {
    TlsBuffer& input = SessionOf(bio).input_;
    BIO_clear_retry_flags(bio);
    if (input.empty()) {
      BIO_set_retry_read(bio);
      return 0;
    }
    *count = std::min(size, input.size());
    std::memcpy(data, input.bytes().data(), *count);
    input.Consume(*count);
    return 1;
  }

  static int Write(BIO* bio, const char* data, size_t size, size_t* count) {
    TlsSession& session = SessionOf(bio);
    BIO_clear_retry_flags(bio);
    if (session.output_.size() + size > kMaxOutputBytes) {
      session.failure_ = absl::UnavailableError(
          "the peer asks for TLS answers that it does not read");
      return 0;
    }
    session.output_.Append(AsBytes(std::string_view(data, size)));
    *count = size;
    return 1;
  }

  static long Control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static OpensslPtr<BIO> New(TlsSession* session, const BIO_METHOD* method) {
    OpensslPtr<BIO> bio(BIO_new(method));
    BIO_set_data(bio.get(), session);
    BIO_set_init(bio.get(), 1);
    return bio;
  }

  static OpensslPtr<BIO_METHOD> NewMethod() {
    OpensslPtr<BIO_METHOD> method(
        BIO_meth_new(BIO_TYPE_SOURCE_SINK, "capstan"));
    BIO_meth_set_read_ex(method.get(), Read);
    BIO_meth_set_write_ex(method.get(), Write);
    BIO_meth_set_ctrl(method.get(), Control);
    return method;
  }
};

TlsSession::TlsSession(std::shared_ptr<const TlsCredentials> credentials,
                       TlsRole role, WallTime now, uint64_t records_per_key)
    : credentials_(std::move(credentials)),
      records_per_key_(records_per_key),
      bio_method_(Bio::NewMethod()),
      ssl_(SSL_new(credentials_->context.get())) {
  OpensslPtr<BIO> bio = Bio::New(this, bio_method_.get());
  if (ssl_ == nullptr) {
    failure_ = absl::InternalError(OpensslReason());
    return;
  }
  BIO* const both_ways = bio.release();
  SSL_set_bio(ssl_.get(), both_ways, both_ways);
  X509_VERIFY_PARAM_set_time(
      SSL_get0_param(ssl_.get()),
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count());
  if (role == TlsRole::kClient) {
    SSL_set_connect_state(ssl_.get());
  } else {
    SSL_set_accept_state(ssl_.get());
  }
}

absl::StatusOr<bool> TlsSession::Handshake() {
  if (!failure_.ok()) return failure_;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    peer_names_ = RoleNames(SSL_get0_peer_certificate(ssl_.get()));
    return true;
  }
  const absl::Status status = Check(result);
  if (!status.ok()) return status;
  return false;
}

absl::StatusOr<size_t> TlsSession::Decrypt(std::span<const MutableBytes> into) {
  size_t total = 0;
  ViewCursor<MutableBytes> left(into);
  while (left.remaining() > 0 && failure_.ok()) {
    const MutableBytes view = left.front();
    size_t count = 0;
    ERR_clear_error();
    const int result =
        SSL_read_ex(ssl_.get(), view.data(), view.size(), &count);
    if (result != 1) {
      Check(result).IgnoreError();  // kept in failure_
      break;
    }
    total += count;
    left.Advance(count);
  }
  if (total == 0 && !failure_.ok()) return failure_;
  return total;
}

absl::StatusOr<size_t> TlsSession::Encrypt(std::span<const Bytes> from) {
  ViewCursor<Bytes> left(from);
  output_.Prepare(
      EncryptedSize(std::min(left.remaining(), kMaxPlainBytes + kRecordBytes)));
  std::unique_ptr<std::byte[]> gathered;
  size_t total = 0;
  while (left.remaining() > 0 && total < kMaxPlainBytes) {
    Bytes plain = left.front();
    plain = plain.first(std::min(plain.size(), kMaxPlainBytes - total));
    if (plain.size() >= kRecordBytes) {
      // Full records only; the remainder shares a record with the next view.
      plain = plain.first(plain.size() - plain.size() % kRecordBytes);
    } else if (plain.size() < left.remaining()) {
      if (gathered == nullptr) {
        gathered = std::make_unique_for_overwrite<std::byte[]>(kRecordBytes);
      }
      plain = Gather(left, gathered.get());
    }
    const absl::Status written = Write(plain);
    if (!written.ok()) return written;
    total += plain.size();
    left.Advance(plain.size());
  }
  return total;
}

absl::Status TlsSession::Write(Bytes plain) {
  if (!failure_.ok()) return failure_;
  size_t count = 0;
  ERR_clear_error();
  records_ += (plain.size() + kRecordBytes - 1) / kRecordBytes;
  if (records_ > records_per_key_) {
    // Sent before the text. Updates only this side's key: the peer updates its
    // own.
    SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
    records_ = 0;
  }
  const int result =
      SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &count);
  if (result == 1) return absl::OkStatus();
  const absl::Status status = Check(result);
  // The output accepts everything, and after the handshake a write waits for
  // nothing.
  return status.ok() ? absl::InternalError("TLS wrote nothing") : status;
}

void TlsSession::CloseNotify() {
  if (!failure_.ok()) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

MutableBytes TlsSession::InputSpace() {
  input_.Trim(input_wanted_);
  return input_.Prepare(input_wanted_);
}

void TlsSession::AddInput(size_t count) {
  input_.Commit(count);
  // A read that fills its memory is probably followed by more.
  input_wanted_ = count == input_wanted_   ? kMaxInputBytes
                  : count < kMinInputBytes ? kMinInputBytes
                                           : input_wanted_;
}

Bytes TlsSession::FirstOutput() {
  if (sending_.empty()) std::swap(sending_, output_);
  return sending_.bytes();
}

void TlsSession::RemoveOutput(size_t count) {
  sending_.Consume(count);
  sending_.Trim(kIdleOutputBytes);
}

absl::Status TlsSession::Check(int result) {
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ) return absl::OkStatus();
  if (failure_.ok()) failure_ = TlsError(ssl_.get(), error);
  return failure_;
}

}  // namespace capstan
