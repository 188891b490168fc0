#include "dataset/format/csv_plan.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "base/cat.h"
#include "capstan/error.h"
#include "dataset/recipe/quote_text.h"

namespace capstan {
namespace {

using Kind = CsvColumn::Kind;

[[noreturn]] void Throw(std::string_view message) {
  throw Error(ErrorCode::kInvalidArgument, Cat("Csv: ", message));
}

const std::string& OutputOf(const CsvColumn& column) {
  return column.output.empty() ? column.name : column.output;
}

DType TypeOf(const CsvColumn& column) {
  return column.kind == Kind::kFloat ? DType::kF32 : DType::kI64;
}

bool IsNumber(const CsvColumn& column) {
  return column.kind == Kind::kFloat || column.kind == Kind::kInteger;
}

void CheckColumn(const CsvColumn& column) {
  if (column.kind == Kind::kIgnored) return;
  const std::string what = Cat("column ", QuoteText(column.name), " ");
  if (OutputOf(column).empty()) Throw("a column has neither name nor output");
  if (column.kind == Kind::kHash && column.buckets < 1) {
    Throw(what + "is hashed, and needs buckets of at least 1");
  }
  if (column.kind == Kind::kVocabulary && column.vocabulary.empty()) {
    Throw(what + "has an empty vocabulary");
  }
  if (!(column.stddev != 0) || !std::isfinite(column.stddev)) {
    Throw(what + "has a stddev that cannot be divided by");
  }
  if (!IsNumber(column) && column.missing) {
    Throw(what + "is no number: `missing` is for numbers");
  }
  if (column.kind == Kind::kInteger && column.missing &&
      (std::trunc(*column.missing) != *column.missing ||
       std::fabs(*column.missing) > 0x1p62)) {
    Throw(what + "holds integers, and `missing` is none");
  }
}

CsvField FieldOf(const CsvColumn& column, const Layout& layout) {
  CsvField field;
  field.kind = column.kind;
  field.name = column.name;
  if (column.kind == Kind::kIgnored) return field;
  field.column = static_cast<std::size_t>(FindField(layout, OutputOf(column)));
  field.log1p = column.log1p;
  field.scale = column.mean != 0 || column.stddev != 1;
  field.mean = static_cast<float>(column.mean);
  field.stddev = static_cast<float>(column.stddev);
  if (column.missing) {
    field.has_missing = true;
    if (column.kind == Kind::kFloat) {
      field.missing_float = field.Finish(static_cast<float>(*column.missing));
    } else {
      field.missing_integer = static_cast<std::int64_t>(*column.missing);
    }
  }
  field.seed = column.seed;
  field.offset = column.offset;
  if (column.kind == Kind::kHash) {
    field.buckets = Modulo(static_cast<std::uint64_t>(column.buckets));
  }
  auto vocabulary =
      std::make_shared<absl::flat_hash_map<std::string, std::int64_t>>();
  for (std::size_t i = 0; i < column.vocabulary.size(); ++i) {
    const bool is_new =
        vocabulary->emplace(column.vocabulary[i], static_cast<std::int64_t>(i))
            .second;
    if (!is_new) {
      Throw(Cat("column ", QuoteText(column.name), " has ",
                QuoteText(column.vocabulary[i]), " twice in its vocabulary"));
    }
  }
  field.vocabulary = std::move(vocabulary);
  field.has_unknown = column.unknown.has_value();
  field.unknown = column.unknown.value_or(0);
  return field;
}

// The listed columns, each with its offset in the row of its output.
std::vector<CsvField> FieldsOf(const std::vector<CsvColumn>& columns,
                               const Layout& layout) {
  std::vector<std::size_t> taken(layout.size(), 0);
  std::vector<CsvField> fields;
  for (const CsvColumn& column : columns) {
    fields.push_back(FieldOf(column, layout));
    if (column.kind == Kind::kIgnored) continue;
    std::size_t& used = taken[fields.back().column];
    fields.back().row_offset = used;
    used += SizeOf(TypeOf(column));
  }
  return fields;
}

std::shared_ptr<const Layout> LayoutOf(const std::vector<CsvColumn>& columns) {
  struct Output {
    DType dtype;
    bool scalar;
    std::int64_t size;
  };
  std::vector<std::string> names;
  std::map<std::string, Output> outputs;
  for (const CsvColumn& column : columns) {
    if (column.kind == Kind::kIgnored) continue;
    const std::string& name = OutputOf(column);
    const bool scalar = column.output.empty();
    const auto [found, is_new] =
        outputs.try_emplace(name, Output{TypeOf(column), scalar, 0});
    if (is_new) names.push_back(name);
    Output& output = found->second;
    if (!is_new && (output.scalar || scalar)) {
      Throw(Cat("two columns are called ", QuoteText(name)));
    }
    if (output.dtype != TypeOf(column)) {
      Throw(Cat("output ", QuoteText(name),
                " has both floats and integers: "
                "column ",
                QuoteText(column.name)));
    }
    ++output.size;
  }
  auto layout = std::make_shared<Layout>();
  for (const std::string& name : names) {
    const Output& output = outputs.at(name);
    layout->push_back({name, output.dtype,
                       output.scalar ? Shape() : Shape({output.size}), false});
  }
  return layout;
}

void CheckOptions(const CsvOptions& options) {
  for (const char c : {options.delimiter, options.quote}) {
    if (c == '\n' || c == '\r') {
      Throw("the end of a line can be neither delimiter nor quote");
    }
  }
  if (options.delimiter == options.quote || options.delimiter == '\0') {
    Throw("the delimiter must be a character of its own");
  }
  if (absl::ascii_isalnum(static_cast<unsigned char>(options.delimiter)) ||
      std::string_view("+-.").find(options.delimiter) !=
          std::string_view::npos) {
    Throw("the delimiter must not be a part of numbers");
  }
  if (!options.header && options.columns.empty()) {
    Throw("a file without a header needs all its columns listed");
  }
  for (const CsvColumn& column : options.columns) CheckColumn(column);
  if (options.header) {
    std::set<std::string_view> names;
    for (const CsvColumn& column : options.columns) {
      if (!names.insert(column.name).second) {
        Throw(Cat("column ", QuoteText(column.name), " is listed twice"));
      }
    }
  }
}

}  // namespace

float CsvField::Finish(float x) const {
  if (log1p) {
    // Above 1, adding 1 loses less than the logarithm's own rounding does, and
    // std::log is several times as fast.
    x = x >= 1 ? std::log(1 + x) : x > 0 ? std::log1p(x) : std::fabs(x) * 0;
  }
  return scale ? (x - mean) / stddev : x;
}

CsvPlan PlanCsv(const CsvOptions& options) {
  CheckOptions(options);
  CsvPlan plan{.delimiter = options.delimiter,
               .quote = options.quote,
               .fields = {},
               .layout = LayoutOf(options.columns)};
  plan.fields = FieldsOf(options.columns, *plan.layout);
  return plan;
}

CsvPlan PlanCsv(const CsvPlan& listed, const std::vector<std::string>& header) {
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (!places.emplace(header[i], i).second) {
      Throw(Cat("the header has ", QuoteText(header[i]), " twice"));
    }
  }
  CsvPlan plan = listed;
  if (listed.fields.empty()) {
    std::vector<CsvColumn> columns;
    for (const std::string& name : header) columns.push_back({.name = name});
    for (const CsvColumn& column : columns) CheckColumn(column);
    plan.layout = LayoutOf(columns);
    plan.fields = FieldsOf(columns, *plan.layout);
    return plan;
  }
  plan.fields.assign(header.size(), CsvField());
  for (std::size_t i = 0; i < header.size(); ++i) {
    plan.fields[i].name = header[i];
  }
  for (const CsvField& field : listed.fields) {
    const auto place = places.find(field.name);
    if (place == places.end()) {
      Throw(Cat("no column ", QuoteText(field.name),
                " in the header: ", QuoteNames(header)));
    }
    plan.fields[place->second] = field;
  }
  return plan;
}

}  // namespace capstan
