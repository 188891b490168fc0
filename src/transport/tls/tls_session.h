// One side of a TLS connection without its I/O: encrypted bytes from and for
// the peer on one side, plain text on the other. TlsStream moves the bytes;
// everything that OpenSSL does for a connection is here.
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
  // The most plain text that one Encrypt takes: large enough that a write's
  // system calls and wake-ups do not matter, small enough that the records are
  // still in the cache when they are written.
  static constexpr size_t kMaxPlainBytes = 256 << 10;
  static constexpr size_t kMaxInputBytes = 256 << 10;
  static constexpr size_t kMinInputBytes = 17 << 10;  // a record and a bit
  // A peer that forces answers (to key updates) but does not read them is
  // disconnected when this much output is waiting.
  static constexpr size_t kMaxOutputBytes = 512 << 10;

  // RFC 8446, 5.5 allows 24 million full records under one AES-GCM key, which a
  // busy connection sends in minutes; the key is changed after a third of that.
  static constexpr uint64_t kRecordsPerKey = 8 << 20;

  // Checks the peer's certificate as of `now`.
  TlsSession(std::shared_ptr<const TlsCredentials> credentials, TlsRole role,
             WallTime now, uint64_t records_per_key = kRecordsPerKey);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Continues the handshake as far as the input allows; true when it is done.
  // Any method may add output, even if it fails: an alert that tells the peer
  // why.
  absl::StatusOr<bool> Handshake();

  // Call after the handshake. Decrypts the available input into the views;
  // returns 0 if it needs more input. Unavailable once the peer has closed and
  // everything is read. Errors are sticky.
  absl::StatusOr<size_t> Decrypt(std::span<const MutableBytes> into);

  // Call after the handshake. Encrypts the views' first bytes into the output,
  // in full records, and returns how many.
  absl::StatusOr<size_t> Encrypt(std::span<const Bytes> from);

  // Tells the peer that no more data will come.
  void CloseNotify();

  // Memory for bytes from the peer; AddInput says how many were put there.
  MutableBytes InputSpace();
  void AddInput(size_t count);

  // Bytes for the peer, in order. They do not move until they are removed, even
  // if more output is added.
  bool has_output() const { return !sending_.empty() || !output_.empty(); }
  Bytes FirstOutput();
  void RemoveOutput(size_t count);

  // The names in the peer's certificate; empty before the handshake is done.
  const std::string& peer_names() const { return peer_names_; }

 private:
  // OpenSSL's access to the two buffers.
  struct Bio;

  absl::Status Write(Bytes plain);
  // Why the last call, which returned `result`, did not succeed: OK if it only
  // needs more input.
  absl::Status Check(int result);

  const std::shared_ptr<const TlsCredentials> credentials_;
  const uint64_t records_per_key_;
  uint64_t records_ = 0;  // sent under the current key
  TlsBuffer input_;
  TlsBuffer sending_;  // exposed by FirstOutput; does not grow
  TlsBuffer output_;   // follows sending_
  size_t input_wanted_ = kMinInputBytes;
  std::string peer_names_;
  absl::Status failure_;  // not OK once the session is broken
  const OpensslPtr<BIO_METHOD> bio_method_;
  const OpensslPtr<SSL> ssl_;
};

}  // namespace capstan
