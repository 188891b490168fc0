// Fuzzes the reader of .npz files, which come from anywhere. The input is a
// file: whatever it is, reading gives an error that names it, or tensors whose
// pieces are just their bytes, and which can be written and are then read as
// the same.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "checkpoint/tensor_file/crc32_zip.h"
#include "checkpoint/tensor_file/tensor_file.h"
#include "checkpoint/tensor_file/zip_writer.h"
#include "simulation/sim_file_system.h"
#include "tensor/npy_header.h"

namespace capstan::fuzz {
namespace {

// Like assert, in every build.
void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

// The tensors that could be read, as .npy files.
std::map<std::string, std::string> ReadAll(const FileSystem& files,
                                           const std::string& path) {
  std::map<std::string, std::string> read;
  auto opened = files.OpenForRead(path);
  Require(opened.ok(), "the file is opened");
  const auto named = [&path](const absl::Status& status) {
    Require(status.message().find("\"" + path + "\"") != std::string::npos,
            "an error names the file");
  };
  const auto file = OpenNpz(*std::move(opened), path);
  if (!file.ok()) {
    named(file.status());
    return read;
  }
  for (const FileTensor& tensor : (*file)->tensors()) {
    std::string content;
    const absl::Status status =
        (*file)->Read(tensor.name, [&](uint64_t offset, Bytes piece) {
          Require(offset == content.size(), "a piece is the next one");
          Require(piece.size() % SizeOf(tensor.dtype) == 0,
                  "a piece is of whole elements");
          content += AsText(piece);
          return absl::OkStatus();
        });
    if (!status.ok()) {
      named(status);
      continue;
    }
    Require(content.size() == ByteSize(tensor.dtype, tensor.shape),
            "it has the bytes of its shape");
    read[tensor.name] = EncodeNpyHeader(tensor.dtype, tensor.shape) + content;
  }
  return read;
}

void Try(Bytes input) {
  SimFileSystem files;
  {
    auto file = files.CreateForWrite("in", IfExists::kFail);
    Require(file.ok() && (*file)->Append(input).ok(), "the input is written");
  }
  const std::map<std::string, std::string> read = ReadAll(files, "in");
  {
    auto file = files.CreateForWrite("out", IfExists::kFail);
    Require(file.ok(), "a file is made");
    ZipWriter zip(**file);
    for (const auto& [name, npy] : read) {
      Require(
          zip.Begin(name + ".npy", npy.size(), ExtendZipCrc32(0, AsBytes(npy)))
                  .ok() &&
              zip.Append(AsBytes(npy)).ok(),
          "what was read can be written");
    }
    Require(zip.Finish().ok(), "the archive is finished");
  }
  Require(ReadAll(files, "out") == read, "it is read as the same");
}

}  // namespace
}  // namespace capstan::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  capstan::fuzz::Try(std::as_bytes(std::span(data, size)));
  return 0;
}
