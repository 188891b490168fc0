// NPY: a header (tensor/npy_header.h), and the elements (npy_elements.h).
#include <memory>
#include <utility>

#include "base/cat.h"
#include "base/error.h"
#include "dataset/format/input_stream.h"
#include "dataset/format/loaded_source.h"
#include "dataset/format/sources.h"
#include "tensor/npy_elements.h"
#include "tensor/npy_header.h"
#include "tensor/view.h"

namespace capstan {
namespace {

NpyHeader ReadNpyFileHeader(const std::string& path, InputStream& file) {
  absl::StatusOr<NpyHeader> header =
      ReadNpyHeader([&file](MutableBytes buffer) { return file.Read(buffer); });
  ThrowIfError(WithContext(header.status(), path));
  if (header->shape.rank() == 0) Damaged(path, "a scalar has no rows");
  return *std::move(header);
}

std::shared_ptr<const Block> Load(const std::string& path,
                                  const std::string& name) {
  const auto file = ValueOrThrow(InputStream::Open(path));
  const NpyHeader header = ReadNpyFileHeader(path, *file);
  Buffer stored = ValueOrThrow(file->ReadRest(StoredBytes(header)));
  absl::StatusOr<Tensor> made = MakeNpyTensor(header, std::move(stored));
  ThrowIfError(WithContext(made.status(), path));
  const Tensor tensor = *std::move(made);
  const absl::Status status = CheckValues(tensor.view(), header.dtype);
  if (!status.ok()) {
    Damaged(path, {status.message().data(), status.message().size()});
  }
  return RowsOf({{name, tensor}});
}

}  // namespace

RecipePtr MakeNpy(std::string path, std::string name) {
  auto count = [path] {
    const auto file = ValueOrThrow(InputStream::Open(path));
    return ReadNpyFileHeader(path, *file).shape.num_rows();
  };
  return MakeLoaded(
      path, [path, name = std::move(name)] { return Load(path, name); },
      std::move(count));
}

}  // namespace capstan
