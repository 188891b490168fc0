#include "simulation/sim_file_system.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/cat.h"
#include "base/status.h"
#include "simulation/sim_file_system_node.h"

namespace capstan {
namespace {

constexpr uint32_t kSimFileMode = 0600;
constexpr uint32_t kSimDirMode = 0700;

absl::Status SimMisuse(std::string_view verb, std::string_view path,
                       std::string_view reason) {
  return FileError(absl::StatusCode::kFailedPrecondition, verb, path, reason);
}

absl::Status NotThere(std::string_view verb, std::string_view path) {
  return FileError(absl::StatusCode::kNotFound, verb, path, "no such file");
}

uint64_t BytesUnder(const SimFileNode& node) {
  uint64_t bytes = node.file.content().size();
  for (const auto& [name, child] : node.directory.entries()) {
    bytes += BytesUnder(*child);
  }
  return bytes;
}

void CrashUnder(SimFileNode& node, const SimFileCrash& crash) {
  node.file.Crash(crash);
  node.directory.Crash(crash);
  for (const auto& [name, child] : node.directory.entries()) {
    CrashUnder(*child, crash);
  }
}

SimNodePtr NewNode(bool is_directory) {
  auto node = std::make_shared<SimFileNode>();
  node->is_directory = is_directory;
  return node;
}

}  // namespace

struct SimFileSystem::Disk {
  // The node at `path`, or why it cannot be found. "" is the root.
  absl::StatusOr<SimNodePtr> Find(std::string_view verb,
                                  std::string_view path) const {
    CAPSTAN_RETURN_IF_ERROR(ValidatePath(path));
    SimNodePtr node = root;
    for (std::string_view rest = path; !rest.empty();) {
      if (!node->is_directory) {
        return SimMisuse(verb, path, "leads through a file");
      }
      const size_t slash = rest.find('/');
      node = node->directory.Find(rest.substr(0, slash));
      if (node == nullptr) return NotThere(verb, path);
      rest.remove_prefix(slash == rest.npos ? rest.size() : slash + 1);
    }
    return node;
  }

  absl::StatusOr<SimNodePtr> FindFile(std::string_view verb,
                                      std::string_view path) const {
    absl::StatusOr<SimNodePtr> node = Find(verb, path);
    if (node.ok() && (*node)->is_directory) {
      return SimMisuse(verb, path, "is a directory");
    }
    return node;
  }

  absl::StatusOr<SimNodePtr> FindDirectory(std::string_view verb,
                                           std::string_view path) const {
    absl::StatusOr<SimNodePtr> node = Find(verb, path);
    if (node.ok() && !(*node)->is_directory) {
      return SimMisuse(verb, path, "is not a directory");
    }
    return node;
  }

  // The directory that holds, or would hold, `path`.
  absl::StatusOr<SimNodePtr> FindParent(std::string_view verb,
                                        std::string_view path) const {
    CAPSTAN_RETURN_IF_ERROR(ValidatePath(path));
    if (path.empty()) {
      return FileError(absl::StatusCode::kInvalidArgument, verb, path,
                       "is the root");
    }
    return FindDirectory(verb, DirectoryOf(path));
  }

  // Counts an operation and returns the injected failure, if any.
  absl::Status Begin(std::string_view verb, std::string_view path) {
    ++operations;
    const auto failure = failures.find(operations);
    const absl::Status status = failure != failures.end() ? failure->second
                                : operations >= fail_from ? fail_from_status
                                                          : absl::OkStatus();
    return WithContext(status,
                       absl::StrCat(ToAbsl(verb), " \"", ToAbsl(path), "\""));
  }

  SimNodePtr root = NewNode(/*is_directory=*/true);
  // Incremented by each crash; files opened before a crash are dead.
  uint64_t crashes = 0;
  uint64_t capacity = std::numeric_limits<uint64_t>::max();
  uint64_t operations = 0;
  std::map<uint64_t, absl::Status> failures;
  uint64_t fail_from = std::numeric_limits<uint64_t>::max();
  absl::Status fail_from_status;
};

class SimFileSystem::Readable final : public ReadableFile {
 public:
  Readable(std::shared_ptr<Disk> disk, SimNodePtr node, std::string_view path)
      : disk_(std::move(disk)),
        node_(std::move(node)),
        path_(path),
        crashes_(disk_->crashes) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset,
                                MutableBytes buffer) const override {
    CAPSTAN_RETURN_IF_ERROR(Begin("read"));
    const Bytes content = AsBytes(node_->file.content());
    if (offset >= content.size()) return size_t{0};
    const Bytes rest = content.subspan(offset);
    const size_t count = std::min(rest.size(), buffer.size());
    std::copy_n(rest.begin(), count, buffer.begin());
    return count;
  }

  absl::StatusOr<uint64_t> Size() const override {
    CAPSTAN_RETURN_IF_ERROR(Begin("stat"));
    return uint64_t{node_->file.content().size()};
  }

 private:
  absl::Status Begin(std::string_view verb) const {
    CAPSTAN_RETURN_IF_ERROR(disk_->Begin(verb, path_));
    if (crashes_ == disk_->crashes) return absl::OkStatus();
    return SimMisuse(verb, path_, "was open during a crash");
  }

  const std::shared_ptr<Disk> disk_;
  const SimNodePtr node_;
  const std::string path_;
  const uint64_t crashes_;
};

class SimFileSystem::Writable final : public WritableFile {
 public:
  Writable(std::shared_ptr<Disk> disk, SimNodePtr node, std::string_view path)
      : disk_(std::move(disk)),
        node_(std::move(node)),
        path_(path),
        crashes_(disk_->crashes) {}

  absl::Status Append(Bytes data) override {
    CAPSTAN_RETURN_IF_ERROR(Begin("append to"));
    const uint64_t room = Room(data.size());
    node_->file.Append(AsText(data.first(room)));
    if (room == data.size()) return absl::OkStatus();
    failed_ = true;
    return FileError(absl::StatusCode::kResourceExhausted, "append to", path_,
                     "no space left on the disk");
  }

  absl::Status Sync() override {
    CAPSTAN_RETURN_IF_ERROR(Begin("sync"));
    node_->file.Sync();
    return absl::OkStatus();
  }

  absl::Status Close() override {
    const bool was_closed = std::exchange(closed_, true);
    CAPSTAN_RETURN_IF_ERROR(disk_->Begin("close", path_));
    if (was_closed) return SimMisuse("close", path_, "closed already");
    return CheckAlive("close");
  }

 private:
  absl::Status Begin(std::string_view verb) {
    const absl::Status injected = disk_->Begin(verb, path_);
    if (closed_) return SimMisuse(verb, path_, "closed already");
    if (failed_) return SimMisuse(verb, path_, "an earlier write failed");
    failed_ = !injected.ok();
    CAPSTAN_RETURN_IF_ERROR(injected);
    return CheckAlive(verb);
  }

  absl::Status CheckAlive(std::string_view verb) const {
    if (crashes_ == disk_->crashes) return absl::OkStatus();
    return SimMisuse(verb, path_, "was open during a crash");
  }

  // How many of the `wanted` bytes fit on the disk.
  uint64_t Room(uint64_t wanted) const {
    if (disk_->capacity == std::numeric_limits<uint64_t>::max()) return wanted;
    const uint64_t used = BytesUnder(*disk_->root);
    const uint64_t room = disk_->capacity - std::min(used, disk_->capacity);
    return std::min(room, wanted);
  }

  const std::shared_ptr<Disk> disk_;
  const SimNodePtr node_;
  const std::string path_;
  const uint64_t crashes_;
  bool closed_ = false;
  bool failed_ = false;
};

SimFileSystem::SimFileSystem() : disk_(std::make_shared<Disk>()) {}
SimFileSystem::~SimFileSystem() = default;

absl::StatusOr<std::unique_ptr<ReadableFile>> SimFileSystem::OpenForRead(
    std::string_view path) const {
  CAPSTAN_RETURN_IF_ERROR(disk_->Begin("open", path));
  const absl::StatusOr<SimNodePtr> node = disk_->FindFile("open", path);
  CAPSTAN_RETURN_IF_ERROR(node.status());
  return std::make_unique<Readable>(disk_, *node, path);
}

absl::StatusOr<std::unique_ptr<WritableFile>> SimFileSystem::CreateForWrite(
    std::string_view path, IfExists if_exists) {
  CAPSTAN_RETURN_IF_ERROR(disk_->Begin("create", path));
  const absl::StatusOr<SimNodePtr> parent = disk_->FindParent("create", path);
  CAPSTAN_RETURN_IF_ERROR(parent.status());
  SimNodePtr node = (*parent)->directory.Find(NameOf(path));
  if (node == nullptr) {
    node = NewNode(/*is_directory=*/false);
    (*parent)->directory.Set(NameOf(path), node);
  } else if (if_exists == IfExists::kFail) {
    return FileError(absl::StatusCode::kAlreadyExists, "create", path,
                     "exists already");
  } else if (node->is_directory) {
    return SimMisuse("create", path, "is a directory");
  } else {
    node->file.Truncate();
  }
  return std::make_unique<Writable>(disk_, std::move(node), path);
}

absl::StatusOr<std::unique_ptr<WritableFile>> SimFileSystem::OpenForAppend(
    std::string_view path) {
  CAPSTAN_RETURN_IF_ERROR(disk_->Begin("open", path));
  const absl::StatusOr<SimNodePtr> node = disk_->FindFile("open", path);
  CAPSTAN_RETURN_IF_ERROR(node.status());
  return std::make_unique<Writable>(disk_, *node, path);
}

absl::Status SimFileSystem::Rename(std::string_view from, std::string_view to) {
  CAPSTAN_RETURN_IF_ERROR(disk_->Begin("rename", from));
  CAPSTAN_RETURN_IF_ERROR(ValidatePath(to));
  const absl::StatusOr<SimNodePtr> parent = disk_->FindParent("rename", from);
  CAPSTAN_RETURN_IF_ERROR(parent.status());
  if (to.empty() || DirectoryOf(from) != DirectoryOf(to)) {
    return FileError(absl::StatusCode::kInvalidArgument, "rename", from,
                     absl::StrCat("\"", ToAbsl(to), "\" is elsewhere"));
  }
  SimDirectory& directory = (*parent)->directory;
  const SimNodePtr node = directory.Find(NameOf(from));
  const SimNodePtr target = directory.Find(NameOf(to));
  if (node == nullptr) return NotThere("rename", from);
  if (node == target) return absl::OkStatus();
  if (target != nullptr && target->is_directory != node->is_directory) {
    return SimMisuse("rename", from,
                     "a file and a directory cannot be exchanged");
  }
  if (target != nullptr && !target->directory.entries().empty()) {
    return SimMisuse("rename", from, "the new name is a directory in use");
  }
  directory.Rename(NameOf(from), NameOf(to));
  return absl::OkStatus();
}

absl::Status SimFileSystem::Remove(std::string_view path) {
  CAPSTAN_RETURN_IF_ERROR(disk_->Begin("remove", path));
  const absl::StatusOr<SimNodePtr> parent = disk_->FindParent("remove", path);
  CAPSTAN_RETURN_IF_ERROR(parent.status());
  CAPSTAN_RETURN_IF_ERROR(disk_->FindFile("remove", path).status());
  (*parent)->directory.Erase(NameOf(path));
  return absl::OkStatus();
}

absl::Status SimFileSystem::CreateDir(std::string_view path) {
  constexpr std::string_view kVerb = "create directory";
  CAPSTAN_RETURN_IF_ERROR(disk_->Begin(kVerb, path));
  const absl::StatusOr<SimNodePtr> parent = disk_->FindParent(kVerb, path);
  CAPSTAN_RETURN_IF_ERROR(parent.status());
  if ((*parent)->directory.Find(NameOf(path)) != nullptr) {
    return FileError(absl::StatusCode::kAlreadyExists, kVerb, path,
                     "exists already");
  }
  (*parent)->directory.Set(NameOf(path), NewNode(/*is_directory=*/true));
  return absl::OkStatus();
}

absl::Status SimFileSystem::RemoveDir(std::string_view path) {
  constexpr std::string_view kVerb = "remove directory";
  CAPSTAN_RETURN_IF_ERROR(disk_->Begin(kVerb, path));
  const absl::StatusOr<SimNodePtr> parent = disk_->FindParent(kVerb, path);
  CAPSTAN_RETURN_IF_ERROR(parent.status());
  const absl::StatusOr<SimNodePtr> node = disk_->FindDirectory(kVerb, path);
  CAPSTAN_RETURN_IF_ERROR(node.status());
  if (!(*node)->directory.entries().empty()) {
    return SimMisuse(kVerb, path, "is not empty");
  }
  (*parent)->directory.Erase(NameOf(path));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> SimFileSystem::List(
    std::string_view path) const {
  CAPSTAN_RETURN_IF_ERROR(disk_->Begin("list", path));
  const absl::StatusOr<SimNodePtr> node = disk_->FindDirectory("list", path);
  CAPSTAN_RETURN_IF_ERROR(node.status());
  std::vector<std::string> names;
  for (const auto& [name, child] : (*node)->directory.entries()) {
    names.push_back(name);
  }
  return names;
}

absl::Status SimFileSystem::SyncDir(std::string_view path) {
  constexpr std::string_view kVerb = "sync directory";
  CAPSTAN_RETURN_IF_ERROR(disk_->Begin(kVerb, path));
  const absl::StatusOr<SimNodePtr> node = disk_->FindDirectory(kVerb, path);
  CAPSTAN_RETURN_IF_ERROR(node.status());
  (*node)->directory.Sync();
  return absl::OkStatus();
}

absl::StatusOr<FileInfo> SimFileSystem::Stat(std::string_view path) const {
  CAPSTAN_RETURN_IF_ERROR(disk_->Begin("stat", path));
  const absl::StatusOr<SimNodePtr> node = disk_->Find("stat", path);
  CAPSTAN_RETURN_IF_ERROR(node.status());
  if ((*node)->is_directory) {
    return FileInfo{
        .kind = FileKind::kDirectory, .size = 0, .mode = kSimDirMode};
  }
  return FileInfo{.kind = FileKind::kFile,
                  .size = (*node)->file.content().size(),
                  .mode = kSimFileMode};
}

void SimFileSystem::Crash(Random& random) {
  ++disk_->crashes;
  // Keeping all or nothing is drawn often, as most bugs need one of the two.
  constexpr double kKeep[] = {0, 1, 0.5, 0.5};
  const SimFileCrash crash{.keep = kKeep[random.Below(4)], .random = random};
  CrashUnder(*disk_->root, crash);
}

void SimFileSystem::SetCapacity(uint64_t bytes) { disk_->capacity = bytes; }

uint64_t SimFileSystem::used_bytes() const { return BytesUnder(*disk_->root); }

uint64_t SimFileSystem::operations() const { return disk_->operations; }

void SimFileSystem::FailOperation(uint64_t number, absl::Status status) {
  disk_->failures[number] = std::move(status);
}

void SimFileSystem::FailFrom(uint64_t number, absl::Status status) {
  disk_->fail_from = number;
  disk_->fail_from_status = std::move(status);
}

void SimFileSystem::ClearFailures() {
  disk_->failures.clear();
  disk_->fail_from = std::numeric_limits<uint64_t>::max();
}

}  // namespace capstan
