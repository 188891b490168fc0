#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "checkpoint/shown_text.h"
#include "checkpoint/tensor_file.h"
#include "checkpoint/zip_reader.h"
#include "tensor/npy_header.h"
#include "tensor/view.h"

namespace capstan {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;
static_assert(kMaxNpyHeader <= kPieceBytes);
constexpr std::string_view kSuffix = ".npy";

struct NpyMember {
  ZipMember zip;
  size_t header_bytes = 0;
};

class NpzFile final : public TensorFile {
 public:
  // As many members as tensors.
  NpzFile(std::unique_ptr<ReadableFile> file, std::string_view path,
          std::vector<FileTensor> tensors, std::vector<NpyMember> members)
      : TensorFile(path, std::move(tensors)),
        file_(std::move(file)),
        members_(std::move(members)) {}

 private:
  absl::Status ReadTensor(size_t index, const Take& take) const override {
    const NpyMember& member = members_[index];
    ZipMemberStream stream(*file_, member.zip);
    std::vector<std::byte> piece(kPieceBytes);
    CAPSTAN_RETURN_IF_ERROR(
        stream.Next(MutableBytes(piece).first(member.header_bytes)).status());
    for (uint64_t offset = 0;;) {
      const absl::StatusOr<size_t> got = stream.Next(piece);
      CAPSTAN_RETURN_IF_ERROR(got.status());
      if (*got == 0) return absl::OkStatus();
      CAPSTAN_RETURN_IF_ERROR(take(offset, Bytes(piece).first(*got)));
      offset += *got;
    }
  }

  const std::unique_ptr<ReadableFile> file_;
  const std::vector<NpyMember> members_;
};

absl::StatusOr<NpyHeader> ReadHeader(const ReadableFile& file,
                                     const ZipMember& member) {
  ZipMemberStream stream(file, member);
  absl::StatusOr<NpyHeader> header = ReadNpyHeader(
      [&stream](MutableBytes buffer) { return stream.Next(buffer); });
  CAPSTAN_RETURN_IF_ERROR(header.status());
  const uint64_t data = ByteSize(header->dtype, header->shape);
  if (CheckedAdd(data, header->size) == member.bytes) return header;
  return absl::DataLossError(
      absl::StrCat("the ", member.bytes, " bytes of its file are not those of ",
                   Describe(header->dtype, header->shape)));
}

absl::StatusOr<std::unique_ptr<TensorFile>> Open(
    std::unique_ptr<ReadableFile> file, std::string_view path) {
  absl::StatusOr<std::vector<ZipMember>> members = ReadZipDirectory(*file);
  CAPSTAN_RETURN_IF_ERROR(members.status());
  std::vector<FileTensor> tensors;
  std::vector<NpyMember> places;
  for (ZipMember& member : *members) {
    if (!member.name.ends_with(kSuffix)) {
      return absl::InvalidArgumentError(
          absl::StrCat("member ", Shown(member.name),
                       ": it is no array, as its name does not end in .npy"));
    }
    const std::string name(member.name, 0, member.name.size() - kSuffix.size());
    const absl::StatusOr<NpyHeader> header = ReadHeader(*file, member);
    CAPSTAN_RETURN_IF_ERROR(
        WithContext(header.status(), absl::StrCat("tensor ", Shown(name))));
    tensors.push_back({name, header->dtype, header->shape});
    places.push_back({std::move(member), header->size});
  }
  return std::make_unique<NpzFile>(std::move(file), path, std::move(tensors),
                                   std::move(places));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TensorFile>> OpenNpz(
    std::unique_ptr<ReadableFile> file, std::string_view path) {
  absl::StatusOr<std::unique_ptr<TensorFile>> opened =
      Open(std::move(file), path);
  CAPSTAN_RETURN_IF_ERROR(WithContext(
      opened.status(),
      absl::StrCat("read \"", absl::string_view(path.data(), path.size()),
                   "\"")));
  return opened;
}

}  // namespace capstan
