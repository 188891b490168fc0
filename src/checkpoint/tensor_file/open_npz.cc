#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/status.h"
#include "checkpoint/tensor_file/shown_text.h"
#include "checkpoint/tensor_file/tensor_file.h"
#include "checkpoint/tensor_file/zip_reader.h"
#include "tensor/buffer.h"
#include "tensor/npy_elements.h"
#include "tensor/npy_header.h"
#include "tensor/view.h"

namespace capstan {
namespace {

constexpr size_t kNpzReadBytes = size_t{1} << 20;
static_assert(kMaxNpyHeader <= kNpzReadBytes);
constexpr std::string_view kSuffix = ".npy";

struct NpyMember {
  ZipMember zip;
  NpyHeader header;
};

class NpzFile final : public TensorFile {
 public:
  // `members` has one entry per tensor.
  NpzFile(std::unique_ptr<ReadableFile> file, std::string_view path,
          std::vector<FileTensor> tensors, std::vector<NpyMember> members)
      : TensorFile(path, std::move(tensors)),
        file_(std::move(file)),
        members_(std::move(members)) {}

 private:
  absl::Status ReadTensor(size_t index, const Take& take) const override {
    const NpyHeader& header = members_[index].header;
    ZipMemberStream stream(*file_, members_[index].zip);
    std::vector<std::byte> piece(kNpzReadBytes);
    CAPSTAN_RETURN_IF_ERROR(
        stream.Next(MutableBytes(piece).first(header.size)).status());
    if (header.fortran_order) return ReadWhole(header, stream, take);
    std::vector<std::byte> decoded;
    for (uint64_t offset = 0;;) {
      const absl::StatusOr<size_t> got = stream.Next(piece);
      CAPSTAN_RETURN_IF_ERROR(got.status());
      if (*got == 0) return absl::OkStatus();
      Bytes elements = Bytes(piece).first(*got);
      if (!IsPlain(header)) {
        decoded.resize(*got / header.stored_size * SizeOf(header.dtype));
        DecodeNpy(header, elements, decoded);
        elements = decoded;
      }
      CAPSTAN_RETURN_IF_ERROR(take(offset, elements));
      offset += elements.size();
    }
  }

  // In Fortran order even the first row is spread over the whole file.
  static absl::Status ReadWhole(const NpyHeader& header,
                                ZipMemberStream& stream, const Take& take) {
    absl::StatusOr<Buffer> stored =
        Buffer::Allocate(StoredBytes(header), Fill::kNone);
    CAPSTAN_RETURN_IF_ERROR(stored.status());
    CAPSTAN_RETURN_IF_ERROR(stream.Next(stored->mutable_bytes()).status());
    const absl::StatusOr<Tensor> tensor =
        MakeNpyTensor(header, *std::move(stored));
    CAPSTAN_RETURN_IF_ERROR(tensor.status());
    const Bytes elements = tensor->view().bytes();
    for (size_t offset = 0; offset < elements.size(); offset += kNpzReadBytes) {
      const size_t size = std::min(kNpzReadBytes, elements.size() - offset);
      CAPSTAN_RETURN_IF_ERROR(take(offset, elements.subspan(offset, size)));
    }
    return absl::OkStatus();
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
  const uint64_t data = StoredBytes(*header);
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
    // Not an array.
    if (!member.name.ends_with(kSuffix)) continue;
    FileTensor& tensor = tensors.emplace_back();
    tensor.name.assign(member.name, 0, member.name.size() - kSuffix.size());
    absl::StatusOr<NpyHeader> header = ReadHeader(*file, member);
    if (absl::IsInvalidArgument(header.status())) {
      tensor.unreadable = std::string(header.status().message());
      header = NpyHeader();
    }
    CAPSTAN_RETURN_IF_ERROR(WithContext(
        header.status(), absl::StrCat("tensor ", Shown(tensor.name))));
    tensor.dtype = header->dtype;
    tensor.shape = header->shape;
    places.push_back({std::move(member), *std::move(header)});
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
