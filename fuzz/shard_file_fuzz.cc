// Fuzzes the reader of the safetensors files of a checkpoint, which believes
// the manifest but not the file. The input is a file. If it is a safetensors
// file, and the manifest has its checksums, it is read; if it is not, or if the
// manifest has others, that is an error that names it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/crc32c.h"
#include "checkpoint/shard_file.h"
#include "checkpoint/tensor_file/hex_text.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "simulation/sim_file_system.h"

namespace capstan::fuzz {
namespace {

// Like assert, in every build.
void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

absl::Status OpenAndVerify(const FileSystem& files, const SavedFile& expected,
                           uint64_t save_id) {
  const auto reader = ShardFileReader::Open(files, "in", expected, save_id);
  absl::Status status = reader.ok() ? (*reader)->Verify() : reader.status();
  Require(status.ok() || status.message().find("\"in\"") != std::string::npos,
          "an error names the file");
  Require(status.ok() || absl::IsDataLoss(status), "an error is DataLoss");
  return status;
}

void Try(Bytes input) {
  SimFileSystem files;
  {
    auto file = files.CreateForWrite("in", IfExists::kFail);
    Require(file.ok() && (*file)->Append(input).ok(), "the input is written");
  }
  SavedFile expected;
  expected.name = "in";
  expected.bytes = input.size();
  expected.crc32c = Crc32c(input);
  const absl::StatusOr<SafetensorsFile> file =
      SafetensorsFile::Open(files, "in");
  if (!file.ok()) {
    Require(!OpenAndVerify(files, expected, 0).ok(), "it is refused");
    return;
  }
  const SafetensorsHeader& header = file->header();
  const uint64_t data_bytes =
      header.entries.empty() ? 0 : header.entries.back().end;
  const Bytes data = input.last(data_bytes);
  for (const SafetensorsEntry& entry : header.entries) {
    expected.tensors.push_back(
        {entry.name,
         Crc32c(data.subspan(entry.begin, entry.end - entry.begin))});
  }
  const auto id = header.metadata.find("save_id");
  const std::optional<uint64_t> save_id =
      id == header.metadata.end() ? std::nullopt : ParseHex64(id->second);
  Require(OpenAndVerify(files, expected, save_id.value_or(0)).ok() ==
              save_id.has_value(),
          "it is read if it has a save id");
  if (!save_id) return;
  Require(!OpenAndVerify(files, expected, *save_id ^ 1).ok(),
          "another save id is refused");
  expected.crc32c ^= 1;
  Require(!OpenAndVerify(files, expected, *save_id).ok(),
          "another checksum is refused");
}

}  // namespace
}  // namespace capstan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  capstan::fuzz::Try(std::as_bytes(std::span(data, size)));
  return 0;
}
