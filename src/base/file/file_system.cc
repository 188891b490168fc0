#include "base/file/file_system.h"

#include "absl/strings/str_cat.h"
#include "base/cat.h"
#include "base/status.h"

namespace capstan {
namespace {

constexpr size_t kMaxName = 255;
constexpr size_t kMaxPath = 4000;

absl::Status Refuse(std::string_view path, std::string_view why) {
  return FileError(absl::StatusCode::kInvalidArgument, "use", path, why);
}

absl::Status WriteNew(FileSystem& files, std::string_view path, Bytes content) {
  auto file = files.CreateForWrite(path, IfExists::kFail);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  CAPSTAN_RETURN_IF_ERROR((*file)->Append(content));
  CAPSTAN_RETURN_IF_ERROR((*file)->Sync());
  return (*file)->Close();
}

}  // namespace

absl::StatusOr<bool> FileSystem::Exists(std::string_view path) const {
  const absl::Status status = Stat(path).status();
  if (status.ok()) return true;
  if (absl::IsNotFound(status)) return false;
  return status;
}

absl::StatusOr<std::string> ReadFile(const FileSystem& files,
                                     std::string_view path, uint64_t max_size) {
  auto file = files.OpenForRead(path);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  const absl::StatusOr<uint64_t> size = (*file)->Size();
  CAPSTAN_RETURN_IF_ERROR(size.status());
  if (*size > max_size) {
    return FileError(
        absl::StatusCode::kResourceExhausted, "read", path,
        absl::StrCat(*size, " bytes, more than the limit of ", max_size));
  }
  std::string content(*size, '\0');
  const absl::StatusOr<size_t> got = (*file)->ReadAt(
      0, std::as_writable_bytes(std::span(content.data(), content.size())));
  CAPSTAN_RETURN_IF_ERROR(got.status());
  // Shorter only if the file was truncated meanwhile.
  content.resize(*got);
  return content;
}

absl::Status ReplaceFile(FileSystem& files, std::string_view path,
                         Bytes content) {
  const std::string temporary = absl::StrCat(ToAbsl(path), ".tmp");
  // One may be left over from a crash.
  const absl::Status removed = files.Remove(temporary);
  if (!absl::IsNotFound(removed)) CAPSTAN_RETURN_IF_ERROR(removed);
  absl::Status status = WriteNew(files, temporary, content);
  if (status.ok()) status = files.Rename(temporary, path);
  if (!status.ok()) {
    // The first error is the one to report.
    (void)files.Remove(temporary);
    return status;
  }
  return files.SyncDir(DirectoryOf(path));
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  return absl::StrCat(ToAbsl(directory), "/", ToAbsl(name));
}

std::string_view DirectoryOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

std::string_view NameOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

absl::Status ValidatePath(std::string_view path) {
  if (path.empty()) return absl::OkStatus();
  if (path.size() > kMaxPath) return Refuse(path, "too long");
  if (path.find('\0') != path.npos) return Refuse(path, "holds a NUL");
  for (std::string_view rest = path;;) {
    const size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (name.empty()) return Refuse(path, "holds an empty name");
    if (name == "." || name == "..") return Refuse(path, "holds . or ..");
    if (name.size() > kMaxName) return Refuse(path, "holds too long a name");
    if (slash == rest.npos) return absl::OkStatus();
    rest.remove_prefix(slash + 1);
  }
}

absl::Status FileError(absl::StatusCode code, std::string_view verb,
                       std::string_view path, std::string_view reason) {
  return absl::Status(code, absl::StrCat(ToAbsl(verb), " \"", ToAbsl(path),
                                         "\": ", ToAbsl(reason)));
}

}  // namespace capstan
