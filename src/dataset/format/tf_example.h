// The bytes of tf.Example:
//
//   Example   { Features features = 1; }
//   Features  { map<string, Feature> feature = 1; }
//   Feature   { oneof { BytesList 1; FloatList 2; Int64List 3; } }
//   each list { repeated value = 1; }   packed or not
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "capstan/dataset.h"
#include "dataset/recipe/block_builder.h"

namespace capstan {

// Parses examples by a list of features. Thread-safe.
class TfExampleParser {
 public:
  // Throws kInvalidArgument for invalid features.
  explicit TfExampleParser(std::vector<TfFeature> features);

  const std::shared_ptr<const Layout>& layout() const { return layout_; }

  // Adds the row's values; neither ends nor abandons the row. Returns why it
  // could not, or "".
  std::string Parse(std::string_view record, BlockBuilder& rows) const;

 private:
  std::string ParseFeature(std::size_t index, std::string_view feature,
                           BlockBuilder& rows) const;
  std::string PutMissing(std::size_t index, BlockBuilder& rows) const;

  const std::vector<TfFeature> features_;
  std::shared_ptr<const Layout> layout_;
  absl::flat_hash_map<std::string, std::size_t> places_;
  std::vector<Tensor> missing_;  // of features that have one and a shape
};

}  // namespace capstan
