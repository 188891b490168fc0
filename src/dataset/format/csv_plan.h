// What to do with each column of a CSV file, worked out once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "capstan/dataset.h"
#include "dataset/recipe/block.h"

namespace capstan {

// x mod a divisor known in advance, by multiplication.
class Modulo {
 public:
  explicit Modulo(std::uint64_t divisor = 1)
      : divisor_(divisor), inverse_(~std::uint64_t{0} / divisor) {}

  std::uint64_t operator()(std::uint64_t x) const {
    // The inverse is at most 1 less than 2^64 / divisor, so the quotient is at
    // most 1 too small.
    __extension__ using Wide = unsigned __int128;
    const auto quotient =
        static_cast<std::uint64_t>((static_cast<Wide>(x) * inverse_) >> 64);
    const std::uint64_t rest = x - quotient * divisor_;
    return rest >= divisor_ ? rest - divisor_ : rest;
  }

 private:
  std::uint64_t divisor_;
  std::uint64_t inverse_;
};

// One column of the file.
struct CsvField {
  CsvColumn::Kind kind = CsvColumn::Kind::kIgnored;
  std::string name;            // for messages
  std::size_t column = 0;      // of the layout
  std::size_t row_offset = 0;  // bytes, in the row of that column

  bool has_missing = false;
  float missing_float = 0;  // after all processing
  std::int64_t missing_integer = 0;
  bool log1p = false;
  bool scale = false;
  float mean = 0;
  float stddev = 1;
  Modulo buckets;
  std::uint64_t seed = 0;
  std::int64_t offset = 0;
  std::shared_ptr<const absl::flat_hash_map<std::string, std::int64_t>>
      vocabulary;
  bool has_unknown = false;
  std::int64_t unknown = 0;

  // Applies what the options ask for: log(1 + max(x, 0)), (x - mean) / stddev.
  float Finish(float x) const;
};

struct CsvPlan {
  char delimiter = ',';
  char quote = '"';
  std::vector<CsvField> fields;  // in file order
  std::shared_ptr<const Layout> layout;
};

// The plan for files that have exactly the listed columns: all files without a
// header. Throws kInvalidArgument for invalid options, naming the column.
CsvPlan PlanCsv(const CsvOptions& options);

// The plan for a file with this header. `listed` is the plan of the options.
// Throws kInvalidArgument for a column that the file does not have, or has
// twice.
CsvPlan PlanCsv(const CsvPlan& listed, const std::vector<std::string>& header);

}  // namespace capstan
