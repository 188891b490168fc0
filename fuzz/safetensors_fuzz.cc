// Fuzzes the reader of safetensors files. The input is a file: whatever it is,
// reading gives an error that names it, or tensors that can be written and are
// then read as the same.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

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

void Try(Bytes input) {
  SimFileSystem files;
  {
    auto file = files.CreateForWrite("in", IfExists::kFail);
    Require(file.ok() && (*file)->Append(input).ok(), "the input is written");
  }
  const absl::StatusOr<Safetensors> read = ReadSafetensors(files, "in");
  if (!read.ok()) {
    Require(read.status().message().find("\"in\"") != std::string::npos,
            "an error names the file");
    return;
  }
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < read->names.size(); ++i) {
    tensors.push_back({read->names[i], read->tensors[i].view()});
  }
  Require(WriteSafetensors(files, "out", tensors, read->metadata).ok(),
          "what was read can be written");
  const absl::StatusOr<Safetensors> again = ReadSafetensors(files, "out");
  Require(again.ok(), "what was written can be read");
  Require(again->metadata == read->metadata, "the metadata are the same");
  Require(again->names.size() == read->names.size(), "as many tensors");
  for (size_t i = 0; i < read->names.size(); ++i) {
    const Tensor* tensor = again->Find(read->names[i]);
    Require(tensor != nullptr && *tensor == read->tensors[i],
            "the tensors are the same");
  }
}

}  // namespace
}  // namespace capstan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  capstan::fuzz::Try(std::as_bytes(std::span(data, size)));
  return 0;
}
