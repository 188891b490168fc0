#include <algorithm>
#include <utility>

#include "capstan/error.h"
#include "dataset/operation/operations.h"

namespace capstan {
namespace {

using Maker = std::function<Dataset(const Example&)>;

// The places of a cycle take turns. A place whose dataset has ended passes its
// turn on, and is given the next dataset at its next turn.
class InterleaveCursor final : public Cursor {
 public:
  InterleaveCursor(std::unique_ptr<Cursor> input, const Maker& make,
                   const InterleaveOptions& options, const Iteration& iteration)
      : input_(std::move(input)),
        make_(make),
        block_(options.block_length),
        iteration_(iteration),
        cycle_(static_cast<std::size_t>(options.cycle_length)) {}

  Run Next(std::int64_t max) override {
    while (!ended_ || open_ > 0) {
      iteration_.ThrowIfStopped();
      Place& place = cycle_[at_];
      if (place.cursor != nullptr) {
        Run run = place.cursor->Next(std::min(max, block_ - given_));
        if (run.size() == 0) {
          place.cursor = nullptr;  // before the recipe that it needs
          place.recipe = nullptr;
          --open_;
          Turn();
          continue;
        }
        given_ += run.size();
        if (given_ == block_) Turn();
        return run;
      }
      if (ended_) {
        Turn();
      } else {
        OpenNext(place);
      }
    }
    return {};
  }

 private:
  struct Place {
    RecipePtr recipe = {};  // outlives its cursor
    std::unique_ptr<Cursor> cursor = {};
  };

  void OpenNext(Place& place) {
    const Run run = input_->Next(1);
    ended_ = run.size() == 0;
    if (ended_) return;
    place.recipe = make_(Example(run.block, run.begin)).recipe();
    place.cursor = place.recipe->Open(iteration_);
    ++open_;
  }

  void Turn() {
    at_ = (at_ + 1) % cycle_.size();
    given_ = 0;
  }

  const std::unique_ptr<Cursor> input_;
  const Maker& make_;
  const std::int64_t block_;
  const Iteration iteration_;
  std::vector<Place> cycle_;
  std::size_t at_ = 0;
  std::int64_t given_ = 0;  // in the current block
  int open_ = 0;
  bool ended_ = false;  // the input
};

class Interleave final : public Recipe {
 public:
  Interleave(RecipePtr input, Maker make, InterleaveOptions options)
      : input_(std::move(input)), make_(std::move(make)), options_(options) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    return std::make_unique<InterleaveCursor>(input_->Open(iteration), make_,
                                              options_, iteration);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    ThrowNoTable("Interleave",
                 "where an element comes from depends on all "
                 "before it");
  }
  std::optional<std::int64_t> Cardinality() const override {
    return std::nullopt;
  }

 private:
  const RecipePtr input_;
  const Maker make_;
  const InterleaveOptions options_;
};

}  // namespace

RecipePtr MakeInterleave(RecipePtr input, Maker function,
                         InterleaveOptions options) {
  if (!function) {
    throw Error(ErrorCode::kInvalidArgument,
                "Interleave: the function is empty");
  }
  CheckAtLeast("Interleave: cycle_length", options.cycle_length, 1);
  CheckAtLeast("Interleave: block_length", options.block_length, 1);
  return std::make_shared<Interleave>(std::move(input), std::move(function),
                                      options);
}

}  // namespace capstan
