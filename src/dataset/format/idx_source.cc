// IDX: two zeros, the type, the rank, a big-endian u32 per axis, the elements.
#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "base/error.h"
#include "dataset/format/input_stream.h"
#include "dataset/format/loaded_source.h"
#include "dataset/format/sources.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace capstan {
namespace {

constexpr std::uint8_t kUnsignedBytes = 0x08;

// Reads the next bytes of a header; false if the file ends first, with zeros in
// place of the missing bytes.
template <std::size_t kSize>
bool ReadBytes(InputStream& file, std::array<std::uint8_t, kSize>& bytes) {
  return ValueOrThrow(file.Read(std::as_writable_bytes(std::span(bytes)))) ==
         kSize;
}

Shape ReadHeader(const std::string& path, InputStream& file) {
  std::array<std::uint8_t, 4> start = {};
  if (!ReadBytes(file, start) || start[0] != 0 || start[1] != 0) {
    Damaged(path, "not an IDX file");
  }
  if (start[2] != kUnsignedBytes) {
    Damaged(path, Cat("the elements are of IDX type ", start[2],
                      "; unsigned bytes (8) can be read"));
  }
  const std::size_t rank = start[3];
  if (rank < 1 || rank > Shape::kMaxRank) {
    Damaged(path, Cat("the rank is ", rank, ", and 1 to ", Shape::kMaxRank,
                      " can be read"));
  }
  std::vector<std::int64_t> dims;
  while (dims.size() < rank) {
    std::array<std::uint8_t, 4> dim = {};
    if (!ReadBytes(file, dim)) Damaged(path, "the header is cut short");
    dims.push_back(std::int64_t{dim[0]} << 24 | dim[1] << 16 | dim[2] << 8 |
                   dim[3]);
  }
  const absl::StatusOr<Shape> shape = MakeShape(dims);
  if (!shape.ok()) {
    Damaged(path,
            {shape.status().message().data(), shape.status().message().size()});
  }
  return *shape;
}

// Reads the whole file as a tensor of u8.
Tensor ReadIdx(const std::string& path) {
  const auto file = ValueOrThrow(InputStream::Open(path));
  const Shape shape = ReadHeader(path, *file);
  Buffer elements = ValueOrThrow(file->ReadRest(ByteSize(DType::kU8, shape)));
  return ValueOrThrow(MakeTensor(DType::kU8, shape, std::move(elements)));
}

template <typename T>
Tensor Convert(const Tensor& from, T divisor) {
  Tensor to = Tensor::Uninitialized(DTypeOf<T>(), from.shape());
  const auto values = from.Values<std::uint8_t>();
  const auto converted = to.MutableValues<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    converted[i] = static_cast<T>(values[i]) / divisor;
  }
  return to;
}

std::shared_ptr<const Block> Load(const std::string& images,
                                  const std::string& labels,
                                  const IdxOptions& options) {
  Tensor x = ReadIdx(images);
  if (options.scale) x = Convert<float>(x, 255);
  Example::Columns columns = {{"x", std::move(x)}};
  if (!labels.empty()) {
    const Tensor y = ReadIdx(labels);
    if (y.shape().rank() != 1) {
      Damaged(labels,
              Cat("labels are of shape [n], not ", y.shape().ToString()));
    }
    if (y.shape().num_rows() != columns[0].second.shape().num_rows()) {
      Damaged(labels, Cat(y.shape().num_rows(), " labels for ",
                          columns[0].second.shape().num_rows(), " images"));
    }
    columns.emplace_back("y", Convert<std::int64_t>(y, 1));
  }
  return RowsOf(columns);
}

}  // namespace

RecipePtr MakeIdx(std::string images, std::string labels, IdxOptions options) {
  auto count = [images] {
    const auto file = ValueOrThrow(InputStream::Open(images));
    return ReadHeader(images, *file).num_rows();
  };
  return MakeLoaded(
      images,
      [images, labels = std::move(labels), options] {
        return Load(images, labels, options);
      },
      std::move(count));
}

}  // namespace capstan
