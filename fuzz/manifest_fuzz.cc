// Fuzzes the reader of checkpoint manifests. The input is a manifest without
// its last line, the checksum: no input would be taken for a manifest if it had
// to guess that. Whatever it is, reading gives an error that names the file, or
// a manifest that is written and then read as the same.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/crc32c.h"
#include "checkpoint/manifest.h"
#include "checkpoint/tensor_file/hex_text.h"

namespace capstan::fuzz {
namespace {

// Like assert, in every build.
void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

absl::StatusOr<Manifest> Decode(std::string_view text) {
  absl::StatusOr<Manifest> manifest = DecodeManifest(text);
  if (!manifest.ok()) {
    const absl::Status& status = manifest.status();
    Require(status.message().find("manifest.json") != std::string::npos,
            "an error names the file");
    Require(absl::IsDataLoss(status) || absl::IsInvalidArgument(status),
            "an error says whose fault it is");
  }
  return manifest;
}

void Try(std::string_view input) {
  (void)Decode(input);
  std::string text(input);
  text += ",\n  \"crc32c\": \"" + Hex32(Crc32c(AsBytes(input))) + "\"\n}\n";
  const absl::StatusOr<Manifest> manifest = Decode(text);
  if (!manifest.ok()) return;
  const absl::StatusOr<std::string> written = EncodeManifest(*manifest);
  Require(written.ok(), "what was read can be written");
  const absl::StatusOr<Manifest> again = Decode(*written);
  Require(again.ok(), "what was written can be read");
  Require(*again == *manifest, "it is the same");
}

}  // namespace
}  // namespace capstan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  capstan::fuzz::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
