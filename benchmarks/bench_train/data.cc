#include "bench_train/data.h"

#include <array>
#include <random>
#include <vector>

#include "bench_train/models.h"

namespace capstan::bench {
namespace {

constexpr char kFolder[] = "/usr/share/datasets/fashion-mnist/";

Dataset Idx(const std::string& which) {
  const std::string folder = kFolder;
  return Dataset::Idx(folder + which + "-images-idx3-ubyte.gz",
                      folder + which + "-labels-idx1-ubyte.gz",
                      {.scale = true});
}

}  // namespace

Dataset Images() { return Idx("train"); }
Dataset TestImages() { return Idx("t10k"); }

Dataset Clicks() {
  constexpr int64_t kExamples = 64 * kClickBatch;
  std::mt19937_64 random(7);
  std::vector<int64_t> ids(static_cast<size_t>(kExamples * kColumns));
  for (int64_t& id : ids) {
    id = static_cast<int64_t>(random() % static_cast<uint64_t>(kRows));
  }
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<size_t>(kExamples * kNumbers));
  for (float& number : numbers) number = normal(random);
  std::vector<float> labels(static_cast<size_t>(kExamples));
  for (size_t i = 0; i < labels.size(); ++i) {
    labels[i] = numbers[i * kNumbers] > 0 ? 1.0F : 0.0F;
  }
  return Dataset::FromTensors(
      {{"ids", Tensor::FromValues({kExamples, kColumns}, ids)},
       {"x", Tensor::FromValues({kExamples, kNumbers}, numbers)},
       {"y", Tensor::FromValues({kExamples}, labels)}});
}

}  // namespace capstan::bench
