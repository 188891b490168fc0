#include "cli/checkpoint_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "checkpoint/training_place.h"
#include "launch/system/printable.h"

namespace capstan {
namespace {

std::string Counted(uint64_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string VariableText(const SavedVariable& variable) {
  std::string text = fmt::format(
      "{}  {}{}{}", Printable(variable.name), NameOf(variable.dtype),
      variable.shape.ToString(), variable.trainable ? "" : ", not trained");
  if (!variable.optimizer.empty()) {
    text += fmt::format(", {}", Printable(variable.optimizer));
    for (const std::string& slot : variable.slots) {
      text +=
          fmt::format("{}{}", &slot == variable.slots.data() ? " with " : ", ",
                      Printable(slot));
    }
  }
  text += "\n";
  for (const SavedShard& shard : variable.shards) {
    text += fmt::format("  rows [{}:{}) in {}, version {}, {}\n", shard.begin,
                        shard.end, shard.file, shard.version,
                        Counted(shard.updates, "update"));
  }
  return text;
}

// "2", "2+31": complete epochs, and batches of the next.
std::string EpochsText(const TrainingPlace& place) {
  if (!place.epochs) return "-";
  std::string text = std::to_string(place.epochs->complete);
  if (place.epochs->batches > 0) {
    text += fmt::format("+{}", place.epochs->batches);
  }
  return text;
}

std::string RecordText(const std::string& name, const std::string& value) {
  constexpr size_t kMostShown = 60;
  if (value.size() <= kMostShown) {
    return fmt::format("  {}: {}\n", Printable(name), Printable(value));
  }
  // Do not cut in the middle of a UTF-8 character.
  size_t end = kMostShown;
  while (end > 0 && (static_cast<uint8_t>(value[end]) & 0xc0) == 0x80) --end;
  return fmt::format("  {}: {}... ({} bytes)\n", Printable(name),
                     Printable(value.substr(0, end)), value.size());
}

}  // namespace

std::string CheckpointsTable(const std::vector<Checkpoint>& checkpoints) {
  size_t width = 4;
  for (const Checkpoint& checkpoint : checkpoints) {
    width = std::max(width, checkpoint.name.size());
  }
  std::string text = fmt::format(
      "{:<{}} {:>10} {:>7} {:<19} {:>10} {:>9} {:>7}\n", "NAME", width,
      "ITERATIONS", "EPOCHS", "CREATED (UTC)", "SIZE", "VARIABLES", "SERVERS");
  for (const Checkpoint& checkpoint : checkpoints) {
    const Manifest& manifest = checkpoint.manifest;
    const TrainingPlace place = FindTraining(manifest);
    text += fmt::format("{:<{}} {:>10} {:>7} {:<19} {:>10} {:>9} {:>7}\n",
                        checkpoint.name, width, place.iterations,
                        EpochsText(place), UtcText(manifest.created_unix_ms),
                        SizeText(TotalBytes(manifest)),
                        manifest.variables.size(), manifest.files.size());
  }
  return text;
}

std::string IterationsText(const Manifest& manifest) {
  return Counted(FindTraining(manifest).iterations, "iteration");
}

std::string CheckpointText(const Checkpoint& checkpoint) {
  const Manifest& manifest = checkpoint.manifest;
  const TrainingPlace place = FindTraining(manifest);
  std::string text = fmt::format(
      "{}: {}{}\n"
      "made {} UTC by Capstan {}; {} in {}\n"
      "internal step {}, round {}, generation {}, save {:016x}\n",
      Printable(checkpoint.name), IterationsText(manifest),
      place.epochs ? fmt::format(", epochs {}", EpochsText(place)) : "",
      UtcText(manifest.created_unix_ms), Printable(manifest.capstan_version),
      SizeText(TotalBytes(manifest)), Counted(manifest.files.size(), "file"),
      manifest.step, manifest.round, manifest.generation, manifest.save_id);
  if (!manifest.applied_above.empty()) {
    text += fmt::format("{} above internal step {} applied too\n",
                        Counted(manifest.applied_above.size(), "step"),
                        manifest.step);
  }
  text += "\n";
  for (const SavedVariable& variable : manifest.variables) {
    text += VariableText(variable);
  }
  if (!manifest.records.empty()) text += "\nrecords\n";
  for (const auto& [name, value] : manifest.records) {
    text += RecordText(name, value);
  }
  return text;
}

std::string DiffText(const CheckpointDiff& diff) {
  if (diff.empty()) {
    return fmt::format("no difference in {}\n",
                       Counted(diff.tensors.size(), "tensor"));
  }
  std::string text;
  for (const std::string& name : diff.only_first) {
    text += fmt::format("only in the first: {}\n", Printable(name));
  }
  for (const std::string& name : diff.only_second) {
    text += fmt::format("only in the second: {}\n", Printable(name));
  }
  for (const std::string& type : diff.other_types) {
    text += fmt::format("other type: {}\n", Printable(type));
  }
  uint64_t same = 0;
  for (const TensorDiff& tensor : diff.tensors) {
    if (tensor.different == 0) {
      ++same;
      continue;
    }
    text += fmt::format("{}: {} of {} differ, by {:g} at most\n",
                        Printable(tensor.name), tensor.different,
                        Counted(tensor.elements, "element"), tensor.largest);
  }
  text += fmt::format("{} equal\n", Counted(same, "tensor"));
  return text;
}

std::string UtcText(int64_t unix_ms) {
  const std::time_t seconds = unix_ms / 1000 - (unix_ms % 1000 < 0 ? 1 : 0);
  std::tm utc{};
  constexpr int64_t kLastYear = 9999 - 1900;
  if (gmtime_r(&seconds, &utc) == nullptr || utc.tm_year < 0 ||
      utc.tm_year > kLastYear) {
    return "-";
  }
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                     utc.tm_sec);
}

std::string SizeText(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"kB", "MB", "GB", "TB"}) {
    // Compare as rounded for display, to avoid "1000.0 kB".
    if (value < 999.95 && *unit != '\0') break;
    value /= 1000;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

uint64_t TotalBytes(const Manifest& manifest) {
  uint64_t bytes = 0;
  for (const SavedFile& file : manifest.files) bytes += file.bytes;
  return bytes;
}

}  // namespace capstan
