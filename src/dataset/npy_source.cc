// NPY: a header (tensor/npy_header.h), and the elements.
#include <cstdint>
#include <memory>
#include <utility>

#include "base/error.h"
#include "dataset/cat.h"
#include "dataset/input_file.h"
#include "dataset/loaded_source.h"
#include "dataset/operations.h"
#include "tensor/npy_header.h"

namespace capstan {
namespace {

[[noreturn]] void Damaged(const std::string& path, std::string_view reason) {
  throw Error(ErrorCode::kDataLoss, Cat(path, ": ", reason));
}

NpyHeader ReadHeader(const std::string& path, std::string_view content) {
  absl::StatusOr<NpyHeader> header = ParseNpyHeader(content);
  ThrowIfError(WithContext(header.status(), path));
  if (header->shape.rank() == 0) Damaged(path, "a scalar has no rows");
  return *std::move(header);
}

std::shared_ptr<const Block> Load(const std::string& path,
                                  const std::string& name) {
  auto content =
      std::make_shared<std::string>(ValueOrThrow(ReadInputFile(path)));
  const NpyHeader header = ReadHeader(path, *content);
  const std::size_t wanted = ByteSize(header.dtype, header.shape);
  const std::size_t found = content->size() - header.size;
  if (found != wanted) {
    Damaged(path,
            Cat("the header says ", wanted, " bytes, and there are ", found));
  }
  char* data = content->data() + header.size;
  Tensor tensor(header.dtype, header.shape,
                std::shared_ptr<void>(content, data));
  // Elements that are not aligned could not be used where they are.
  if (reinterpret_cast<std::uintptr_t>(data) % SizeOf(header.dtype) != 0) {
    tensor = Tensor::CopyOf(tensor.view());
  }
  if (header.dtype == DType::kBool) tensor.Values<bool>();  // throws if damaged
  return RowsOf({{name, tensor}});
}

}  // namespace

RecipePtr MakeNpy(std::string path, std::string name) {
  auto count = [path] {
    const std::string start = ValueOrThrow(ReadInputStart(path, kMaxNpyHeader));
    return ReadHeader(path, start).shape.num_rows();
  };
  return MakeLoaded([path = std::move(path),
                     name = std::move(name)] { return Load(path, name); },
                    std::move(count));
}

}  // namespace capstan
