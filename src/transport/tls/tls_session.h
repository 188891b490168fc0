// One side of a TLS connection without its I/O: bytes from the peer go in,
// bytes for the peer come out, and plain text is on the other side. TlsStream
// moves the bytes; everything that OpenSSL does for a connection is here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "base/bytes.h"
#include "transport/tls/openssl.h"
#include "transport/tls/tls_buffer.h"
#include "transport/tls/tls_credentials.h"

namespace capstan {

// Not thread-safe. Memory: up to kMaxOutputBytes and kMaxInputBytes while busy,
// kMinInputBytes and OpenSSL's few KiB while idle.
class TlsSession {
 public:
  // The most plain text that one Encrypt takes: enough for the system calls
  // and wake-ups of a write not to matter, and small enough for the records to
  // be still in the cache when they are written.
  static constexpr size_t kMaxPlainBytes = 256 << 10;
  static constexpr size_t kMaxInputBytes = 256 << 10;
  static constexpr size_t kMinInputBytes = 17 << 10;  // a record and some
  // A peer that makes us answer (key updates) and does not read what we answer
  // is given up at this size.
  static constexpr size_t kMaxOutputBytes = 512 << 10;

  // RFC 8446, 5.5 allows 24 million full records under one AES-GCM key, which
  // are sent in minutes; after a third of them the key is changed.
  static constexpr uint64_t kRecordsPerKey = 8 << 20;

  // Checks the peer's certificate as of `now`.
  TlsSession(std::shared_ptr<const TlsCredentials> credentials, TlsRole role,
             WallTime now, uint64_t records_per_key = kRecordsPerKey);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Goes on with the handshake as far as the input allows; true when it is
  // done. Every method may add output, also the ones that fail: an alert that
  // tells the peer why.
  absl::StatusOr<bool> Handshake();

  // After the handshake. Decrypts input into the views, as much as there is;
  // 0 if it needs more input. Unavailable once the peer has closed and all is
  // read. Errors stay.
  absl::StatusOr<size_t> Decrypt(std::span<const MutableBytes> into);

  // After the handshake. Encrypts the views' first bytes into the output,
  // in full records, and says how many.
  absl::StatusOr<size_t> Encrypt(std::span<const Bytes> from);

  // Tells the peer that no more will come.
  void CloseNotify();

  // Where to put bytes from the peer; AddInput says how many were put there.
  MutableBytes InputSpace();
  void AddInput(size_t count);

  // Bytes for the peer, in order. They stay where they are until they are
  // removed, also while more is added.
  bool has_output() const { return !sending_.empty() || !output_.empty(); }
  Bytes FirstOutput();
  void RemoveOutput(size_t count);

  // The names in the peer's certificate; empty before the handshake is done.
  const std::string& peer_names() const { return peer_names_; }

 private:
  // OpenSSL's way to the two buffers.
  struct Bio;

  absl::Status Write(Bytes plain);
  // Why the last call, which returned `result`, did not succeed: OK if it only
  // needs more input.
  absl::Status Check(int result);

  const std::shared_ptr<const TlsCredentials> credentials_;
  const uint64_t records_per_key_;
  uint64_t records_ = 0;  // sent under the present key
  TlsBuffer input_;
  TlsBuffer sending_;  // seen through FirstOutput; does not grow
  TlsBuffer output_;   // comes after it
  size_t input_wanted_ = kMinInputBytes;
  std::string peer_names_;
  absl::Status failure_;  // not OK once it is broken
  const OpensslPtr<BIO_METHOD> bio_method_;
  const OpensslPtr<SSL> ssl_;
};

}  // namespace capstan
