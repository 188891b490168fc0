// Owning pointers to OpenSSL's objects, and its errors as text.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace capstan {

struct OpensslDeleter {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_STORE_CTX* context) const {
    X509_STORE_CTX_free(context);
  }
};

template <typename T>
using OpensslPtr = std::unique_ptr<T, OpensslDeleter>;

// Returns the reason of this thread's oldest OpenSSL error ("no start line")
// and clears all its errors. Call ERR_clear_error before the operation that may
// fail.
std::string OpensslReason();

// The role names of a certificate, as in Stream::peer_certificate; empty if it
// has none.
std::string RoleNames(const X509* certificate);

}  // namespace capstan
