// Zip archives for tests, well-formed or not: each part can be changed before
// the archive is assembled. Test-only.
#pragma once

#include <zlib.h>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "checkpoint/tensor_file/crc32_zip.h"
#include "checkpoint/tensor_file/tensor_file.h"
#include "simulation/sim_file_system.h"
#include "tensor/npy_header.h"

namespace capstan::testing {

template <std::unsigned_integral T>
void PutNumber(std::string& text, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) {
    text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
}

// Deflates without header and checksum, as in zip.
inline std::string Deflated(std::string_view plain) {
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, -MAX_WBITS, 9,
               Z_DEFAULT_STRATEGY);
  std::string text(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  deflate(&stream, Z_FINISH);
  text.resize(stream.total_out);
  deflateEnd(&stream);
  return text;
}

// A member as its headers describe it; `data` is what is in the file.
struct RawMember {
  std::string name;
  std::string data;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc32 = 0;
  uint32_t stored_bytes = 0;
  uint32_t bytes = 0;
  std::string extra = {};       // in the directory
  uint32_t offset_change = 0;   // added to the offset in the directory
  std::string local_name = {};  // if different
  std::string descriptor = {};  // after the data
  uint16_t disk = 0;
};

inline RawMember Member(const std::string& name, const std::string& plain,
                        bool deflated = false) {
  RawMember member;
  member.name = name;
  member.data = deflated ? Deflated(plain) : plain;
  member.method = deflated ? 8 : 0;
  member.crc32 = ExtendZipCrc32(0, AsBytes(plain));
  member.stored_bytes = static_cast<uint32_t>(member.data.size());
  member.bytes = static_cast<uint32_t>(plain.size());
  return member;
}

// The records at the end.
struct RawEnd {
  uint16_t disk = 0;
  int count_change = 0;
  uint32_t bytes_change = 0;
  uint32_t begin_change = 0;
  std::string before = {};  // between the directory and the end
  std::string comment = {};
};

inline std::string ZipOf(const std::vector<RawMember>& members,
                         const RawEnd& end = {}) {
  std::string text;
  std::string directory;
  for (const RawMember& member : members) {
    const auto offset =
        static_cast<uint32_t>(text.size()) + member.offset_change;
    const auto common = [&member](std::string& to, size_t name, size_t extra) {
      PutNumber(to, uint16_t{20});
      PutNumber(to, member.flags);
      PutNumber(to, member.method);
      PutNumber(to, uint32_t{0});  // time and date
      PutNumber(to, member.crc32);
      PutNumber(to, member.stored_bytes);
      PutNumber(to, member.bytes);
      PutNumber(to, static_cast<uint16_t>(name));
      PutNumber(to, static_cast<uint16_t>(extra));
    };
    const std::string& local =
        member.local_name.empty() ? member.name : member.local_name;
    text += "PK\3\4";
    common(text, local.size(), 0);
    text += local + member.data + member.descriptor;
    directory += "PK\1\2";
    PutNumber(directory, uint16_t{20});
    common(directory, member.name.size(), member.extra.size());
    PutNumber(directory, uint16_t{0});
    PutNumber(directory, member.disk);
    PutNumber(directory, uint16_t{0});
    PutNumber(directory, uint32_t{0});
    PutNumber(directory, offset);
    directory += member.name + member.extra;
  }
  const auto begin = static_cast<uint32_t>(text.size());
  const auto count = static_cast<uint16_t>(static_cast<int>(members.size()) +
                                           end.count_change);
  text += directory + end.before + "PK\5\6";
  PutNumber(text, end.disk);
  PutNumber(text, end.disk);
  PutNumber(text, count);
  PutNumber(text, count);
  PutNumber(text, static_cast<uint32_t>(directory.size()) + end.bytes_change);
  PutNumber(text, begin + end.begin_change);
  PutNumber(text, static_cast<uint16_t>(end.comment.size()));
  return text + end.comment;
}

// The content of a .npy file.
inline std::string NpyOf(const Tensor& tensor) {
  return EncodeNpyHeader(tensor.dtype(), tensor.shape())
      .append(AsText(tensor.view().bytes()));
}

// Opens `content` as a file in memory called "in".
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) {
    (void)ReplaceFile(files_, "in", AsBytes(content));
  }
  std::unique_ptr<ReadableFile> Open() const {
    return *files_.OpenForRead("in");
  }
  absl::StatusOr<std::unique_ptr<TensorFile>> OpenAs(
      TensorFormat format) const {
    return OpenTensorFile(Open(), "in", format);
  }

 private:
  SimFileSystem files_;
};

// Reads a whole tensor.
inline absl::StatusOr<Tensor> ReadWhole(const TensorFile& file,
                                        std::string_view name) {
  const FileTensor* found = file.Find(name);
  if (found == nullptr) return absl::NotFoundError("no such tensor");
  Tensor tensor = Tensor::Zeros(found->dtype, found->shape);
  const MutableBytes bytes = tensor.mutable_view().mutable_bytes();
  uint64_t end = 0;
  const absl::Status status =
      file.Read(name, [&](uint64_t offset, Bytes piece) {
        if (offset != end || piece.size() > bytes.size() - offset ||
            piece.size() % SizeOf(found->dtype) != 0) {
          return absl::InternalError("a piece is not the next one");
        }
        std::copy(piece.begin(), piece.end(),
                  bytes.begin() + static_cast<ptrdiff_t>(offset));
        end = offset + piece.size();
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  if (end != bytes.size()) return absl::InternalError("pieces are missing");
  return tensor;
}

}  // namespace capstan::testing
