#include "checkpoint/training_place.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "absl/strings/match.h"

namespace capstan {
namespace {

using Json = nlohmann::json;

// The unsigned number under `key`; nullopt if there is none.
std::optional<uint64_t> NumberIn(const Json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_number_unsigned()) {
    return std::nullopt;
  }
  return found->get<uint64_t>();
}

std::optional<TrainingPlace> PlaceOf(const std::string& text) {
  const Json record = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object()) return std::nullopt;
  const std::optional<uint64_t> iterations = NumberIn(record, "iterations");
  if (!iterations) return std::nullopt;
  TrainingPlace place{.iterations = *iterations};
  const std::optional<uint64_t> epoch = NumberIn(record, "epoch");
  const std::optional<uint64_t> batch = NumberIn(record, "batch");
  if (epoch && batch) {
    place.epochs = TrainingPlace::Epochs{.complete = *epoch, .batches = *batch};
  }
  return place;
}

}  // namespace

TrainingPlace FindTraining(const Manifest& manifest) {
  TrainingPlace all;
  bool trained = false;
  for (const auto& [name, text] : manifest.records) {
    if (!absl::StartsWith(name, "trainer/")) continue;
    const std::optional<TrainingPlace> place = PlaceOf(text);
    if (!place) continue;
    trained = true;
    all.iterations += place->iterations;
    if (!place->epochs) continue;
    const auto order = [](const TrainingPlace::Epochs& epochs) {
      return std::tuple(epochs.complete, epochs.batches);
    };
    if (!all.epochs || order(*all.epochs) < order(*place->epochs)) {
      all.epochs = place->epochs;
    }
  }
  if (trained) return all;
  for (const SavedVariable& variable : manifest.variables) {
    for (const SavedShard& shard : variable.shards) {
      all.iterations = std::max(all.iterations, shard.updates);
    }
  }
  return all;
}

}  // namespace capstan
