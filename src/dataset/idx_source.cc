// IDX: two zeros, the type, the rank, a big-endian u32 per axis, the elements.
#include <array>
#include <memory>
#include <utility>

#include "base/error.h"
#include "dataset/cat.h"
#include "dataset/input_file.h"
#include "dataset/loaded_source.h"
#include "dataset/operations.h"

namespace capstan {
namespace {

constexpr std::uint8_t kUnsignedBytes = 0x08;
constexpr std::size_t kLongestHeader = 4 + 4 * Shape::kMaxRank;

[[noreturn]] void Damaged(const std::string& path, std::string_view reason) {
  throw Error(ErrorCode::kDataLoss, Cat(path, ": ", reason));
}

struct Header {
  Shape shape;
  std::size_t size;  // of the header
};

Header ReadHeader(const std::string& path, std::string_view content) {
  const auto byte = [&](std::size_t at) {
    return static_cast<std::uint8_t>(content[at]);
  };
  if (content.size() < 4 || byte(0) != 0 || byte(1) != 0) {
    Damaged(path, "this is no IDX file");
  }
  if (byte(2) != kUnsignedBytes) {
    Damaged(path, Cat("the elements are of IDX type ", byte(2),
                      "; unsigned bytes (8) can be read"));
  }
  const std::size_t rank = byte(3);
  if (rank < 1 || rank > Shape::kMaxRank) {
    Damaged(path, Cat("the rank is ", rank, ", and 1 to ", Shape::kMaxRank,
                      " can be read"));
  }
  if (content.size() < 4 + 4 * rank) Damaged(path, "the header is cut short");
  std::array<std::int64_t, Shape::kMaxRank> dims = {};
  for (std::size_t i = 0; i < rank; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      dims.at(i) = dims.at(i) << 8 | byte(4 + 4 * i + j);
    }
  }
  try {
    return {Shape(std::span<const std::int64_t>(dims.data(), rank)),
            4 + 4 * rank};
  } catch (const Error& error) {
    Damaged(path, error.message());
  }
}

// The whole file as a tensor of u8 on its content.
Tensor ReadIdx(const std::string& path) {
  auto content =
      std::make_shared<std::string>(ValueOrThrow(ReadInputFile(path)));
  const Header header = ReadHeader(path, *content);
  const std::size_t wanted = ByteSize(DType::kU8, header.shape);
  const std::size_t found = content->size() - header.size;
  if (found != wanted) {
    Damaged(path,
            Cat("the header says ", wanted, " bytes, and there are ", found));
  }
  char* data = content->data() + header.size;
  return Tensor(DType::kU8, header.shape,
                std::shared_ptr<void>(std::move(content), data));
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
    const std::string start =
        ValueOrThrow(ReadInputStart(images, kLongestHeader));
    return ReadHeader(images, start).shape.num_rows();
  };
  return MakeLoaded([images = std::move(images), labels = std::move(labels),
                     options] { return Load(images, labels, options); },
                    std::move(count));
}

}  // namespace capstan
