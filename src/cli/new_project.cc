#include "cli/new_project.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;

absl::Status CannotWrite(const fs::path& path, const std::error_code& error) {
  return absl::UnavailableError(
      absl::StrCat("cannot write ", path.string(), ": ", error.message()));
}

// Creates the directory if needed and checks that it is empty.
absl::Status MakeEmpty(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(directory, error) && !fs::is_directory(directory, error)) {
    return absl::FailedPreconditionError(
        absl::StrCat(directory.string(), " is not a directory"));
  }
  fs::create_directories(directory, error);
  if (error) return CannotWrite(directory, error);
  const bool empty = fs::is_empty(directory, error);
  if (error) return CannotWrite(directory, error);
  if (empty) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(directory.string(), " is not empty: name a new directory"));
}

}  // namespace

std::string ProjectName(std::string_view directory) {
  fs::path path = fs::path(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::string name = path.filename().string();
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (!absl::ascii_isalnum(byte) && c != '-') c = '_';
  }
  const bool has_letter = std::any_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c));
  });
  // CMake's own targets.
  const bool reserved = name == "all" || name == "clean" || name == "help" ||
                        name == "install" || name == "test";
  if (reserved) name += "_project";
  return has_letter ? name : "train";
}

absl::Status WriteStarterProject(const std::string& directory) {
  CAPSTAN_RETURN_IF_ERROR(MakeEmpty(directory));
  std::error_code error;
  const fs::path whole = fs::absolute(directory, error);
  const std::string name = ProjectName(error ? directory : whole.string());
  for (const ProjectFile& file : StarterProject(name)) {
    const fs::path path = fs::path(directory) / file.name;
    std::ofstream stream(path);
    stream << file.content << std::flush;
    if (!stream.good()) {
      return CannotWrite(path, std::error_code(errno, std::generic_category()));
    }
  }
  return absl::OkStatus();
}

}  // namespace capstan
