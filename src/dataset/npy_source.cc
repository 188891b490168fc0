// NPY: "\x93NUMPY", version, length of the header, the header, the elements.
// The header is a Python dict: {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }.
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "dataset/cat.h"
#include "dataset/input_file.h"
#include "dataset/loaded_source.h"
#include "dataset/operations.h"
#include "dataset/quote_text.h"

namespace capstan {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// More than any header that NumPy writes for a plain array.
constexpr std::size_t kLongestHeader = 64 << 10;

[[noreturn]] void Damaged(const std::string& path, std::string_view reason) {
  throw Error(ErrorCode::kDataLoss, Cat(path, ": ", reason));
}

struct Header {
  DType dtype;
  Shape shape;
  std::size_t size;  // of all that is before the elements
};

// What follows `'key':` in the dict.
std::string_view ValueOf(const std::string& path, std::string_view dict,
                         std::string_view key) {
  const std::size_t at = dict.find(Cat("'", key, "'"));
  const std::size_t colon = at == dict.npos ? at : dict.find(':', at);
  if (colon == dict.npos) {
    Damaged(path, Cat("the header has no '", key, "'"));
  }
  const std::string_view rest = dict.substr(colon + 1);
  const std::size_t blank = rest.find_first_not_of(" ");
  return blank == rest.npos ? "" : rest.substr(blank);
}

DType TypeOf(const std::string& path, std::string_view value) {
  const std::string_view text = value.substr(0, 5);
  if (text == "'<f4'") return DType::kF32;
  if (text == "'<f8'") return DType::kF64;
  if (text == "'<f2'") return DType::kF16;
  if (text == "'<i4'") return DType::kI32;
  if (text == "'<i8'") return DType::kI64;
  if (text == "'|u1'") return DType::kU8;
  if (text == "'|b1'") return DType::kBool;
  Damaged(path, Cat("the type ", QuoteText(value.substr(0, 8)),
                    " cannot be read: convert it to one of <f4, <f8, "
                    "<f2, <i4, <i8, |u1, |b1"));
}

Shape ShapeOf(const std::string& path, std::string_view value) {
  std::vector<std::int64_t> dims;
  const std::size_t close = value.find(')');
  if (!value.starts_with('(') || close == value.npos) {
    Damaged(path, "the shape in the header is malformed");
  }
  const char* p = value.data() + 1;
  const char* const end = value.data() + close;
  while (p != end && dims.size() <= Shape::kMaxRank) {
    if (*p == ' ' || *p == ',') {
      ++p;
      continue;
    }
    const auto result = std::from_chars(p, end, dims.emplace_back());
    if (result.ec != std::errc()) {
      Damaged(path, "the shape in the header is malformed");
    }
    p = result.ptr;
  }
  try {
    return Shape(std::span<const std::int64_t>(dims));
  } catch (const Error& error) {
    Damaged(path, error.message());
  }
}

Header ReadHeader(const std::string& path, std::string_view content) {
  const auto byte = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<std::uint8_t>(content[at]));
  };
  if (!content.starts_with(kMagic) || content.size() < 12) {
    Damaged(path, "this is no .npy file");
  }
  const bool is_first = byte(6) == 1;
  if (byte(6) < 1 || byte(6) > 3) {
    Damaged(path, Cat("version ", byte(6), " is not known"));
  }
  std::size_t length = byte(8) | byte(9) << 8;
  if (!is_first) length |= byte(10) << 16 | byte(11) << 24;
  const std::size_t begin = is_first ? 10 : 12;
  if (length > kLongestHeader || content.size() - begin < length) {
    Damaged(path, "the header is cut short");
  }
  const std::string_view dict = content.substr(begin, length);
  Header header{TypeOf(path, ValueOf(path, dict, "descr")),
                ShapeOf(path, ValueOf(path, dict, "shape")), begin + length};
  if (header.shape.rank() == 0) Damaged(path, "a scalar has no rows");
  if (header.shape.rank() > 1 &&
      !ValueOf(path, dict, "fortran_order").starts_with("False")) {
    Damaged(path,
            "the array is in Fortran's order: save "
            "numpy.ascontiguousarray of it");
  }
  return header;
}

std::shared_ptr<const Block> Load(const std::string& path,
                                  const std::string& name) {
  auto content =
      std::make_shared<std::string>(ValueOrThrow(ReadInputFile(path)));
  const Header header = ReadHeader(path, *content);
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
    const std::string start =
        ValueOrThrow(ReadInputStart(path, kLongestHeader + kMagic.size() + 8));
    return ReadHeader(path, start).shape.num_rows();
  };
  return MakeLoaded([path = std::move(path),
                     name = std::move(name)] { return Load(path, name); },
                    std::move(count));
}

}  // namespace capstan
