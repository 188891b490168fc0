#include "tensor/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

// Both return null if there is no memory.

std::byte* AllocateFromHeap(size_t size, Fill fill) {
  // aligned_alloc requires a multiple of the alignment; size < kLarge, so the
  // sum cannot overflow.
  size_t padded = (size + Buffer::kAlignment - 1) & ~(Buffer::kAlignment - 1);
  void* memory = std::aligned_alloc(Buffer::kAlignment, padded);
  if (memory != nullptr && fill == Fill::kZero) std::memset(memory, 0, padded);
  return static_cast<std::byte*>(memory);
}

std::byte* AllocateFromKernel(size_t size) {
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  // Only a hint: a kernel without huge pages refuses, and nothing is lost.
  (void)madvise(memory, size, MADV_HUGEPAGE);
  return static_cast<std::byte*>(memory);
}

}  // namespace

absl::StatusOr<Buffer> Buffer::Allocate(size_t size, Fill fill) {
  if (size == 0) return Buffer();
  std::byte* data =
      size < kLarge ? AllocateFromHeap(size, fill) : AllocateFromKernel(size);
  if (data == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", size, " bytes"));
  }
  return Buffer(data, size);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  Buffer old(std::move(other));
  std::swap(data_, old.data_);
  std::swap(size_, old.size_);
  return *this;
}

Buffer::~Buffer() {
  if (size_ < kLarge) {
    std::free(data_);
  } else {
    munmap(data_, size_);
  }
}

}  // namespace capstan
