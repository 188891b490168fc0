#include <algorithm>
#include <mutex>
#include <utility>

#include "base/cat.h"
#include "dataset/operation/operations.h"

namespace capstan {
namespace {

using Elements = std::shared_ptr<const std::vector<Run>>;

// All elements, once one reading has reached the end. Thread-safe.
class Kept {
 public:
  Elements Get() const {
    const std::lock_guard lock(mutex_);
    return elements_;
  }
  void Put(std::vector<Run> elements) {
    const std::lock_guard lock(mutex_);
    if (elements_ != nullptr) return;
    elements_ = std::make_shared<const std::vector<Run>>(std::move(elements));
  }

 private:
  mutable std::mutex mutex_;
  Elements elements_;  // guarded by mutex_
};

class ReplayCursor final : public Cursor {
 public:
  explicit ReplayCursor(Elements elements) : elements_(std::move(elements)) {}

  Run Next(std::int64_t max) override {
    if (run_.size() == 0) {
      if (at_ == elements_->size()) return {};
      run_ = (*elements_)[at_++];
    }
    Run taken = run_;
    taken.end = std::min(taken.end, taken.begin + max);
    run_.begin = taken.end;
    return taken;
  }

 private:
  const Elements elements_;
  std::size_t at_ = 0;
  Run run_;
};

class CachedCursor final : public Cursor {
 public:
  CachedCursor(std::unique_ptr<Cursor> input, std::shared_ptr<Kept> kept)
      : input_(std::move(input)), kept_(std::move(kept)) {}

  Run Next(std::int64_t max) override {
    // An error must be thrown again in the next iteration: nothing is kept
    // then.
    const bool was_whole = std::exchange(whole_, false);
    Run run = input_->Next(max);
    whole_ = was_whole;
    if (!whole_) return run;
    if (run.size() > 0) {
      Append(run, elements_);
    } else {
      kept_->Put(std::move(elements_));
      whole_ = false;
    }
    return run;
  }

 private:
  const std::unique_ptr<Cursor> input_;
  const std::shared_ptr<Kept> kept_;
  std::vector<Run> elements_;
  bool whole_ = true;  // elements_ is complete so far and wanted
};

// Keeps each element when it is first read. The order is always the same, as if
// everything had been read once, in order.
class CacheTable final : public Table {
 public:
  explicit CacheTable(std::shared_ptr<const Table> input)
      : input_(std::move(input)),
        elements_(static_cast<std::size_t>(input_->size())) {}

  std::int64_t size() const override { return input_->size(); }
  std::string Describe() const override {
    return Cat(input_->Describe(), ".Cache()");
  }

  void Read(std::span<const std::int64_t> indices, const Order& /*order*/,
            std::vector<Run>& out) const override {
    ReadMissing(indices);
    const std::lock_guard lock(mutex_);
    for (const std::int64_t index : indices) {
      Append(elements_[static_cast<std::size_t>(index)], out);
    }
  }

 private:
  void ReadMissing(std::span<const std::int64_t> indices) const {
    std::vector<std::int64_t> missing;
    {
      const std::lock_guard lock(mutex_);
      for (const std::int64_t index : indices) {
        if (elements_[static_cast<std::size_t>(index)].size() == 0) {
          missing.push_back(index);
        }
      }
    }
    if (missing.empty()) return;
    std::vector<Run> runs;
    input_->Read(missing, {}, runs);
    const std::lock_guard lock(mutex_);
    auto index = missing.begin();
    for (const Run& run : runs) {
      for (std::int64_t i = run.begin; i < run.end; ++i, ++index) {
        elements_[static_cast<std::size_t>(*index)] = {run.block, i, i + 1};
      }
    }
  }

  const std::shared_ptr<const Table> input_;

  mutable std::mutex mutex_;
  mutable std::vector<Run> elements_;  // guarded by mutex_; empty if not read
};

class Cache final : public Recipe {
 public:
  explicit Cache(RecipePtr input) : input_(std::move(input)) {}

  std::unique_ptr<Cursor> Open(const Iteration& iteration) const override {
    if (Elements elements = kept_->Get()) {
      return std::make_unique<ReplayCursor>(std::move(elements));
    }
    return std::make_unique<CachedCursor>(input_->Open(iteration), kept_);
  }
  std::shared_ptr<const Table> OpenTable() const override {
    return std::make_shared<CacheTable>(input_->OpenTable());
  }
  std::optional<std::int64_t> Cardinality() const override {
    return input_->Cardinality();
  }

 private:
  const RecipePtr input_;
  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace

RecipePtr MakeCache(RecipePtr input) {
  return std::make_shared<Cache>(std::move(input));
}

}  // namespace capstan
