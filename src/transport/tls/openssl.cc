#include "transport/tls/openssl.h"

#include <openssl/err.h>

#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "transport/certificate_names.h"

namespace capstan {

std::string OpensslReason() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(error);
  if (reason != nullptr) return reason;
  return absl::StrCat("OpenSSL error ", error);
}

std::string RoleNames(const X509* certificate) {
  const OpensslPtr<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::string roles;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
    const std::optional<std::string> role = CertificateName(std::string_view(
        reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
        static_cast<size_t>(ASN1_STRING_length(uri))));
    if (role) absl::StrAppend(&roles, roles.empty() ? "" : ",", *role);
  }
  return roles;
}

}  // namespace capstan
