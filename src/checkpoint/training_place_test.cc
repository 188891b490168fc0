#include "checkpoint/training_place.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

Manifest With(std::map<std::string, std::string> records) {
  Manifest manifest;
  manifest.step = 493;
  manifest.records = std::move(records);
  SavedVariable& variable = manifest.variables.emplace_back();
  for (const uint64_t updates : {17, 18}) {
    variable.shards.emplace_back().updates = updates;
  }
  return manifest;
}

TEST(TrainingPlaceTest, IsThatOfTheTrainer) {
  const TrainingPlace place = FindTraining(
      With({{"trainer/net", R"({"iterations":469,"epoch":1,"batch":31})"},
            {"other", R"({"iterations":7})"}}));
  EXPECT_EQ(place.iterations, 469u);
  ASSERT_TRUE(place.epochs);
  EXPECT_EQ(place.epochs->complete, 1u);
  EXPECT_EQ(place.epochs->batches, 31u);
}

TEST(TrainingPlaceTest, OfSeveralTrainers) {
  const TrainingPlace place = FindTraining(
      With({{"trainer/a", R"({"iterations":30,"epoch":3,"batch":0})"},
            {"trainer/b", R"({"iterations":12,"epoch":2,"batch":9})"}}));
  EXPECT_EQ(place.iterations, 42u);
  ASSERT_TRUE(place.epochs);
  EXPECT_EQ(place.epochs->complete, 3u);
  EXPECT_EQ(place.epochs->batches, 0u);
}

// Users write records too, so a record may contain anything.
TEST(TrainingPlaceTest, WithoutOneThereAreTheUpdates) {
  for (const char* record :
       {"", "[]", "{", R"({"iterations":-1})", R"({"iterations":"3"})",
        R"({"iterations":1e400})", R"({"epoch":1})"}) {
    const TrainingPlace place = FindTraining(With({{"trainer/net", record}}));
    EXPECT_EQ(place.iterations, 18u) << record;
    EXPECT_FALSE(place.epochs) << record;
  }
}

}  // namespace
}  // namespace capstan
