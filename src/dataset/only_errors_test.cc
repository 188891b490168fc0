// Whatever goes wrong inside a reader, the program gets a capstan::Error.
#include "dataset/recipe/only_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include "capstan/dataset.h"
#include "dataset/format/loaded_source.h"
#include "dataset/format/records.h"
#include "dataset/read_all_test.h"
#include "dataset/thrown_test.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

enum class Where { kBegin, kParse, kScan };

// Throws std::bad_alloc for the content of the file.
class HungryParser final : public RecordParser {
 public:
  explicit HungryParser(Where where) : where_(where) {}

  Progress Begin(std::string_view /*text*/, bool /*last*/) override {
    ThrowIf(Where::kBegin);
    return {.stop = Progress::Stop::kFull};
  }
  bool has_lines() const override { return false; }
  const std::shared_ptr<const Layout>& layout() const override {
    return layout_;
  }
  Progress Parse(std::string_view /*text*/, bool /*last*/,
                 BlockBuilder& /*rows*/) override {
    ThrowIf(Where::kParse);
    return {};
  }
  Progress Scan(std::string_view text, bool /*last*/, std::uint64_t offset,
                std::vector<std::uint64_t>& starts) override {
    ThrowIf(Where::kScan);
    starts.push_back(offset);
    return {.consumed = text.size()};
  }
  std::unique_ptr<RecordParser> Fork() const override {
    return std::make_unique<HungryParser>(where_);
  }

 private:
  void ThrowIf(Where where) const {
    if (where == where_) throw std::bad_alloc();
  }

  const Where where_;
  const std::shared_ptr<const Layout> layout_ =
      std::make_shared<const Layout>();
};

class HungryFormat final : public RecordFormat {
 public:
  explicit HungryFormat(Where where) : where_(where) {}

  std::string_view name() const override { return "Hungry"; }
  std::unique_ptr<RecordParser> NewParser() const override {
    return std::make_unique<HungryParser>(where_);
  }
  const BadRecords& bad_records() const override { return bad_records_; }
  std::uint64_t max_record_bytes() const override { return 100; }

 private:
  const Where where_;
  const BadRecords bad_records_;
};

TEST(OnlyErrorsTest, NoMemoryForARecordIsAnErrorThatNamesTheFile) {
  const testing::TempDir dir;
  WriteText(dir / "f", "record");
  const auto no_memory =
      AllOf(HasSubstr("/f: out of memory"), HasSubstr("(ResourceExhausted)"));
  const auto make = [&](Where where) {
    return MakeRecords(dir / "?", std::make_unique<HungryFormat>(where));
  };
  for (const Where where : {Where::kBegin, Where::kParse}) {
    const RecipePtr recipe = make(where);
    EXPECT_THAT(Thrown([&] { recipe->Open({})->Next(1); }), no_memory);
  }
  for (const Where where : {Where::kBegin, Where::kScan}) {
    const RecipePtr recipe = make(where);
    EXPECT_THAT(Thrown([&] { recipe->OpenTable(); }), no_memory);
  }
  const RecipePtr recipe = make(Where::kParse);
  const auto table = recipe->OpenTable();
  EXPECT_THAT(Thrown([&] {
                std::vector<struct Run> runs;
                const std::int64_t index = 0;
                table->Read({&index, 1}, Order(), runs);
              }),
              no_memory);
}

TEST(OnlyErrorsTest, SoIsWhateverAWholeFileThrows) {
  const RecipePtr recipe = MakeLoaded(
      "f.npy",
      []() -> std::shared_ptr<const Block> {
        throw std::length_error("a vector");
      },
      []() -> std::int64_t { throw std::bad_alloc(); });
  EXPECT_EQ(Thrown([&] { recipe->Open({})->Next(1); }),
            "f.npy: a vector (Unknown)");
  EXPECT_EQ(Thrown([&] { recipe->OpenTable(); }), "f.npy: a vector (Unknown)");
  EXPECT_EQ(Thrown([&] { recipe->Cardinality(); }),
            "f.npy: out of memory (ResourceExhausted)");
}

TEST(OnlyErrorsTest, ErrorsPass) {
  EXPECT_EQ(Thrown([] {
              OnlyErrors("f",
                         [] { throw Error(ErrorCode::kDataLoss, "damaged"); });
            }),
            "damaged (DataLoss)");
  EXPECT_EQ(OnlyErrors("f", [] { return 5; }), 5);
}

}  // namespace
}  // namespace capstan
