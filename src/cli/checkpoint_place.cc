#include "cli/checkpoint_place.h"

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "launch/system/printable.h"

namespace capstan {
namespace {

Place PlaceOf(const std::filesystem::path& path) {
  Place place;
  place.files = ValueOrThrow(PosixFileSystem::Open(
      (path.has_filename() ? path.parent_path() : path).string()));
  place.path = path.filename().string();
  return place;
}

}  // namespace

Place FindPlace(const std::string& argument) {
  std::error_code error;
  const std::filesystem::path path =
      std::filesystem::canonical(argument, error);
  if (error) {
    throw Error(
        ErrorCode::kNotFound,
        fmt::format("\"{}\": {}", Printable(argument), error.message()));
  }
  return PlaceOf(path);
}

Place NewFilePlace(const std::string& argument) {
  return PlaceOf(std::filesystem::absolute(argument));
}

ChosenCheckpoint FindCheckpoint(const std::string& argument) {
  ChosenCheckpoint found{.place = FindPlace(argument), .checkpoint = {}};
  PosixFileSystem& files = *found.place.files;
  const std::string manifest = JoinPath(found.place.path, kManifestName);
  if (ValueOrThrow(files.Exists(manifest))) {
    found.checkpoint = ValueOrThrow(OpenCheckpoint(files, found.place.path));
    return found;
  }
  std::vector<std::string> damaged;
  absl::StatusOr<Checkpoint> newest =
      NewestCheckpoint(files, found.place.path, &damaged);
  for (const std::string& why : damaged) {
    fmt::print(stderr, "passed over: {}\n", Printable(why));
  }
  found.checkpoint = ValueOrThrow(std::move(newest));
  found.place.path = JoinPath(found.place.path, found.checkpoint.name);
  return found;
}

}  // namespace capstan
