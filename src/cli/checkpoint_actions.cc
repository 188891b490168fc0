#include "cli/checkpoint_actions.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "checkpoint/diff.h"
#include "checkpoint/export.h"
#include "checkpoint/verify_checkpoint.h"
#include "cli/checkpoint_place.h"
#include "cli/checkpoint_text.h"
#include "launch/system/printable.h"

namespace capstan {
namespace {

// The checkpoints of a directory that can be opened; prints a line about each
// one that cannot.
std::vector<Checkpoint> OpenAll(const Place& place, bool& well) {
  std::vector<Checkpoint> checkpoints;
  for (const std::string& name :
       ValueOrThrow(ListCheckpoints(*place.files, place.path))) {
    absl::StatusOr<Checkpoint> checkpoint =
        OpenCheckpoint(*place.files, JoinPath(place.path, name));
    if (checkpoint.ok()) {
      checkpoints.push_back(*std::move(checkpoint));
      continue;
    }
    fmt::print("BAD {}\n",
               Printable(std::string(checkpoint.status().message())));
    well = false;
  }
  return checkpoints;
}

// Whether the checkpoint is intact; prints a line for each damaged file.
bool IsSound(const FileSystem& files, const std::string& path,
             const Checkpoint& checkpoint) {
  const std::vector<absl::Status> damage =
      FindDamage(files, path, checkpoint.manifest);
  for (const absl::Status& status : damage) {
    fmt::print("BAD {}\n", Printable(std::string(status.message())));
  }
  return damage.empty();
}

// Like IsSound, but also prints a line if the checkpoint is intact.
bool Verify(const FileSystem& files, const std::string& path,
            const Checkpoint& checkpoint) {
  if (!IsSound(files, path, checkpoint)) return false;
  fmt::print("{}: sound, {}, {} in {} files\n", Printable(path),
             IterationsText(checkpoint.manifest),
             SizeText(TotalBytes(checkpoint.manifest)),
             checkpoint.manifest.files.size());
  return true;
}

// Which checkpoints to remove. Reads those to keep in full first. A damaged one
// does not count: an older intact one is kept in its place, and the damaged one
// is dropped from `checkpoints` and left alone.
std::vector<std::string> ToPrune(const Place& place, const Retention& retention,
                                 std::vector<Checkpoint>& checkpoints) {
  std::set<std::string> sound;
  while (true) {
    std::vector<std::string> removed = ToRemove(checkpoints, retention, {});
    const auto is_bad = [&](const Checkpoint& checkpoint) {
      const std::string& name = checkpoint.name;
      if (sound.contains(name) ||
          std::find(removed.begin(), removed.end(), name) != removed.end()) {
        return false;
      }
      if (!IsSound(*place.files, JoinPath(place.path, name), checkpoint)) {
        return true;
      }
      sound.insert(name);
      return false;
    };
    if (std::erase_if(checkpoints, is_bad) == 0) return removed;
  }
}

}  // namespace

int ListAction(const std::vector<std::string>& directories) {
  bool well = true;
  for (const std::string& directory : directories) {
    if (directories.size() > 1) fmt::print("{}\n", Printable(directory));
    fmt::print("{}", CheckpointsTable(OpenAll(FindPlace(directory), well)));
  }
  return well ? 0 : 1;
}

int ShowAction(const std::string& path, bool json) {
  const ChosenCheckpoint found = FindCheckpoint(path);
  if (json) {
    fmt::print("{}",
               ValueOrThrow(ReadFile(*found.place.files,
                                     JoinPath(found.place.path, kManifestName),
                                     kMaxManifestBytes)));
  } else {
    fmt::print("{}", CheckpointText(found.checkpoint));
  }
  return 0;
}

int VerifyAction(const std::vector<std::string>& paths, bool all) {
  bool well = true;
  for (const std::string& path : paths) {
    if (all) {
      const Place place = FindPlace(path);
      for (const Checkpoint& checkpoint : OpenAll(place, well)) {
        well = Verify(*place.files, JoinPath(place.path, checkpoint.name),
                      checkpoint) &&
               well;
      }
      continue;
    }
    const ChosenCheckpoint found = FindCheckpoint(path);
    well =
        Verify(*found.place.files, found.place.path, found.checkpoint) && well;
  }
  return well ? 0 : 1;
}

int DiffAction(const std::string& first, const std::string& second,
               bool slots) {
  const ChosenCheckpoint a = FindCheckpoint(first);
  const ChosenCheckpoint b = FindCheckpoint(second);
  const CheckpointDiff diff = ValueOrThrow(DiffCheckpoints(
      {a.place.files.get(), a.place.path, &a.checkpoint.manifest},
      {b.place.files.get(), b.place.path, &b.checkpoint.manifest}, slots));
  fmt::print("{}", DiffText(diff));
  return diff.empty() ? 0 : 1;
}

int ExportAction(const std::string& path, const std::string& out, bool slots) {
  const ChosenCheckpoint found = FindCheckpoint(path);
  const Place to = NewFilePlace(out);
  const auto write = out.ends_with(".npz") ? ExportNpz : ExportSafetensors;
  ThrowIfError(write(*found.place.files, found.place.path,
                     found.checkpoint.manifest, *to.files, to.path,
                     {.slots = slots}));
  const FileInfo info = ValueOrThrow(to.files->Stat(to.path));
  fmt::print("{}: {}, {}, {}\n", Printable(out),
             Printable(found.checkpoint.name),
             IterationsText(found.checkpoint.manifest), SizeText(info.size));
  return 0;
}

int PruneAction(const PruneFlags& flags) {
  const Place place = FindPlace(flags.directory);
  bool well = true;
  std::vector<Checkpoint> checkpoints = OpenAll(place, well);
  const size_t opened = checkpoints.size();
  const std::vector<std::string> removed = ToPrune(
      place,
      {.max_to_keep = flags.keep, .keep_every_hours = flags.keep_every_hours},
      checkpoints);
  const size_t bad = opened - checkpoints.size();
  for (const std::string& name : removed) {
    if (!flags.dry_run) {
      ThrowIfError(RemoveCheckpoint(*place.files, place.path, name));
    }
    fmt::print("{} {}\n", flags.dry_run ? "would remove" : "removed", name);
  }
  fmt::print("{} of {} {}{}\n", checkpoints.size() - removed.size(), opened,
             flags.dry_run ? "would be kept" : "kept",
             bad == 0 ? "" : fmt::format(", and {} bad left alone", bad));
  return well && bad == 0 ? 0 : 1;
}

}  // namespace capstan
