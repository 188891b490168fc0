// Files in memory whose bytes a test changes in place: a simulated disk is too
// slow for half a million changes. Read-only as a FileSystem. Test-only.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file/file_system.h"
#include "base/status.h"

namespace capstan::testing {

// Not thread-safe.
class PatchableFiles final : public FileSystem {
 public:
  // Copies the files of the directory `path`, under their paths.
  absl::Status CopyFrom(const FileSystem& files, std::string_view path) {
    const auto names = files.List(path);
    CAPSTAN_RETURN_IF_ERROR(names.status());
    for (const std::string& name : *names) {
      const std::string file = JoinPath(path, name);
      auto content = ReadFile(files, file, uint64_t{1} << 30);
      CAPSTAN_RETURN_IF_ERROR(content.status());
      files_[file] = *std::move(content);
    }
    return absl::OkStatus();
  }

  // By path; may be changed freely.
  std::map<std::string, std::string, std::less<>>& content() { return files_; }

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(
      std::string_view path) const override {
    const auto found = files_.find(path);
    if (found == files_.end()) return NotThere("open", path);
    return std::make_unique<Readable>(found->second);
  }
  absl::StatusOr<FileInfo> Stat(std::string_view path) const override {
    const auto found = files_.find(path);
    if (found != files_.end()) {
      return FileInfo{FileKind::kFile, found->second.size(), 0600};
    }
    // A directory exists if a file is in it.
    const std::string inside = absl::StrCat(std::string(path), "/");
    const auto first = files_.lower_bound(inside);
    if (first == files_.end() || !first->first.starts_with(inside)) {
      return NotThere("stat", path);
    }
    return FileInfo{FileKind::kDirectory, 0, 0700};
  }
  absl::StatusOr<std::vector<std::string>> List(
      std::string_view path) const override {
    return ReadOnly(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> CreateForWrite(
      std::string_view path, IfExists /*if_exists*/) override {
    return ReadOnly(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(
      std::string_view path) override {
    return ReadOnly(path);
  }
  absl::Status Rename(std::string_view from, std::string_view) override {
    return ReadOnly(from);
  }
  absl::Status Remove(std::string_view path) override { return ReadOnly(path); }
  absl::Status CreateDir(std::string_view path) override {
    return ReadOnly(path);
  }
  absl::Status RemoveDir(std::string_view path) override {
    return ReadOnly(path);
  }
  absl::Status SyncDir(std::string_view path) override {
    return ReadOnly(path);
  }

 private:
  class Readable final : public ReadableFile {
   public:
    explicit Readable(const std::string& content) : content_(content) {}
    absl::StatusOr<size_t> ReadAt(uint64_t offset,
                                  MutableBytes buffer) const override {
      const Bytes all = AsBytes(content_);
      if (offset >= all.size()) return size_t{0};
      const size_t count = std::min<size_t>(all.size() - offset, buffer.size());
      std::copy_n(all.begin() + static_cast<ptrdiff_t>(offset), count,
                  buffer.begin());
      return count;
    }
    absl::StatusOr<uint64_t> Size() const override {
      return uint64_t{content_.size()};
    }

   private:
    const std::string& content_;
  };

  static absl::Status NotThere(std::string_view verb, std::string_view path) {
    return FileError(absl::StatusCode::kNotFound, verb, path, "no such file");
  }
  static absl::Status ReadOnly(std::string_view path) {
    return FileError(absl::StatusCode::kPermissionDenied, "change", path,
                     "read-only");
  }

  std::map<std::string, std::string, std::less<>> files_;
};

}  // namespace capstan::testing
