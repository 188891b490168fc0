#include "train/model.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "capstan/error.h"
#include "train/run_step.h"

namespace capstan {
namespace {

constexpr FunctionOptions kReadsOnly{.reads_only = true};

void Check(const ModelDefinition& definition) {
  if (definition.name.empty() || absl::StrContains(definition.name, '/')) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("a model called '", definition.name,
                             "': it needs a name without '/', as its variables "
                             "are called <name>/<parameter>"));
  }
  if (!definition.make) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("the model '", definition.name,
                             "' has no function `make` that makes a replica"));
  }
}

// The description of a pipeline with many operations must not fill up the
// record of a training.
std::string Shortened(std::string text) {
  constexpr size_t kMost = 200;
  if (text.size() <= kMost) return text;
  const uint64_t hash = Hash64(text);
  text.resize(kMost / 2);
  return absl::StrCat(text, "... #", absl::Hex(hash));
}

DataCount Count(const LazyTable& table) {
  DataCount count;
  try {
    const ExampleTable elements = table.Get();
    count.size = elements.size();
    count.description = Shortened(elements.Describe());
  } catch (const Error& error) {
    // The dataset has an operation that needs the order, so it cannot be read
    // by number; any other error is a failure.
    if (error.code() != ErrorCode::kFailedPrecondition) throw;
    count.obstacle = error.message();
    count.infinite = table.dataset().Cardinality() == Dataset::kInfinite;
  }
  return count;
}

}  // namespace

void Type<DataCount>::Write(ValueWriter& writer, const DataCount& value) {
  Type<std::optional<std::int64_t>>::Write(writer, value.size);
  writer.Text(value.description);
  writer.Text(value.obstacle);
  writer.Bool(value.infinite);
}

DataCount Type<DataCount>::Read(ValueReader& reader) {
  DataCount value;
  value.size = Type<std::optional<std::int64_t>>::Read(reader);
  value.description = reader.Text();
  value.obstacle = reader.Text();
  value.infinite = reader.Bool();
  return value;
}

void Type<DataShard>::Write(ValueWriter& writer, const DataShard& value) {
  writer.Int(value.shard);
  writer.Int(value.shards);
  writer.Int(value.limit);
}

DataShard Type<DataShard>::Read(ValueReader& reader) {
  DataShard value;
  value.shard = reader.Int();
  value.shards = reader.Int();
  value.limit = reader.Int();
  if (value.shards < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                absl::StrCat("data in ", value.shards, " shards"));
  }
  return value;
}

const std::string& Model::name() const { return impl_->definition->name; }

Model AddModel(Definitions& program, ModelDefinition given) {
  Check(given);
  using Pool = Model::Impl::Pool;
  using Batches = Model::Impl::Batches;
  using Elements = Model::Impl::Table;
  auto definition = std::make_shared<const ModelDefinition>(std::move(given));
  const std::string& name = definition->name;
  auto impl = std::make_shared<const Model::Impl>(Model::Impl{
      .definition = definition,
      .replicas = program.AddResource(
          name + "/replicas",
          [definition](const InputContext& /*input*/) {
            return std::make_shared<ReplicaPool>(definition);
          }),
      .train = program.AddFunction(
          name + "/train",
          [](WorkerContext& worker, const Pool& pool, const Batches& batches,
             std::uint64_t number, const std::string& order) {
            bool ended = false;
            StepReport report = TrainOn(worker, *pool, order,
                                        ReadShared(*batches, number, ended));
            report.end_of_data = ended;
            return report;
          }),
      .train_range = program.AddFunction(
          name + "/train_range",
          [](WorkerContext& worker, const Pool& pool, const Elements& table,
             const DataRange& range, std::uint64_t seed,
             const std::string& order) {
            return TrainOn(worker, *pool, order,
                           ReadRange(table->Get(), range, seed));
          }),
      .evaluate = program.AddFunction(
          name + "/evaluate",
          [](WorkerContext& worker, const Pool& pool, const Elements& table,
             const DataShard& part, const std::string& order) {
            return EvaluateOn(worker, *pool, order,
                              ReadShard(table->dataset(), part.shard,
                                        part.shards, part.limit));
          },
          kReadsOnly),
      .evaluate_range = program.AddFunction(
          name + "/evaluate_range",
          [](WorkerContext& worker, const Pool& pool, const Elements& table,
             const DataRange& range, std::uint64_t seed,
             const std::string& order) {
            return EvaluateOn(worker, *pool, order,
                              ReadRange(table->Get(), range, seed));
          },
          kReadsOnly),
      .predict = program.AddFunction(
          name + "/predict",
          [](WorkerContext& worker, const Pool& pool, const Elements& table,
             const DataShard& part, const std::string& order) {
            return PredictOn(worker, *pool, order,
                             ReadShard(table->dataset(), part.shard,
                                       part.shards, part.limit));
          },
          kReadsOnly),
      .predict_range = program.AddFunction(
          name + "/predict_range",
          [](WorkerContext& worker, const Pool& pool, const Elements& table,
             const DataRange& range, const std::string& order) {
            return PredictOn(worker, *pool, order,
                             ReadRange(table->Get(), range, 0));
          },
          kReadsOnly),
      .count = program.AddFunction(
          name + "/count", [](const Elements& table) { return Count(*table); },
          kReadsOnly)});
  return Model(std::move(impl));
}

}  // namespace capstan
