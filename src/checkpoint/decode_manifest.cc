#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/status.h"
#include "checkpoint/manifest.h"
#include "checkpoint/manifest_json.h"
#include "checkpoint/tensor_file/hex_text.h"

namespace capstan {
namespace {

constexpr std::string_view kTailBegin = ",\n  \"crc32c\": \"";
constexpr std::string_view kTailEnd = "\"\n}\n";
constexpr size_t kCrcDigits = 8;
constexpr size_t kTailBytes = kTailBegin.size() + kCrcDigits + kTailEnd.size();

// OK if the text ends as required and its checksum is right.
absl::Status CheckSum(std::string_view text) {
  if (text.size() > kMaxManifestBytes) {
    return absl::DataLossError(
        absl::StrCat(text.size(), " bytes, more than the limit of ",
                     kMaxManifestBytes, ": not a manifest"));
  }
  if (text.size() < kTailBytes) {
    return absl::DataLossError(
        absl::StrCat(text.size(), " bytes, too few for a manifest: it is cut"));
  }
  const std::string_view body = text.substr(0, text.size() - kTailBytes);
  const std::string_view tail = text.substr(body.size());
  const auto crc = ParseHex32(tail.substr(kTailBegin.size(), kCrcDigits));
  if (!tail.starts_with(kTailBegin) || !tail.ends_with(kTailEnd) || !crc) {
    return absl::DataLossError(
        "it does not end with its checksum: it is cut or damaged");
  }
  const uint32_t actual = Crc32c(AsBytes(body));
  if (actual == *crc) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("its checksum is ", Hex32(actual),
                                          ", but it says ", Hex32(*crc),
                                          ": it is damaged"));
}

}  // namespace

absl::StatusOr<Manifest> DecodeManifest(std::string_view text) {
  CAPSTAN_RETURN_IF_ERROR(WithContext(CheckSum(text), kManifestName));
  absl::StatusOr<Manifest> manifest = ParseManifestJson(text);
  CAPSTAN_RETURN_IF_ERROR(WithContext(manifest.status(), kManifestName));
  const absl::Status fits = CheckManifest(*manifest);
  if (fits.ok()) return manifest;
  return absl::DataLossError(WithContext(fits, kManifestName).message());
}

}  // namespace capstan
