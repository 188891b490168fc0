// Importing files of tensors through the API.
#include <cmath>
#include <filesystem>
#include <map>

#include "checkpoint/tensor_file/npz_files_test.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "coordinator/checkpoint_helpers.h"

namespace capstan {
namespace {

using ::testing::AllOf;
using testing::Door;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsError;
using testing::Job;
using testing::Member;
using testing::None;
using testing::NpyOf;
using testing::RawMember;
using testing::SavedState;
using testing::SaveIn;
using testing::TempDir;
using testing::ZipOf;

using Tensors = std::map<std::string, Tensor>;

void WriteNpz(const std::string& path, const std::vector<RawMember>& members) {
  const FileInFolder file = OpenFolderOf(path, IfMissing::kFail);
  ThrowIfError(ReplaceFile(*file.folder, file.name, AsBytes(ZipOf(members))));
}

// A file of these, in the format of its suffix.
std::string Write(const TempDir& dir, const std::string& name,
                  const Tensors& tensors) {
  const std::string path = dir.path() + "/" + name;
  if (name.ends_with(".npz")) {
    std::vector<RawMember> members;
    for (const auto& [tensor, value] : tensors) {
      members.push_back(Member(tensor + ".npy", NpyOf(value), true));
    }
    WriteNpz(path, members);
    return path;
  }
  std::vector<NamedTensor> named;
  for (const auto& [tensor, value] : tensors) {
    named.push_back({tensor, value.view()});
  }
  const FileInFolder file = OpenFolderOf(path, IfMissing::kFail);
  ThrowIfError(WriteSafetensors(*file.folder, file.name, named));
  return path;
}

// Values that differ from element to element, and that all floating types have.
Tensor Pattern(DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::Zeros(dtype, shape);
  const MutableBytes bytes = tensor.mutable_view().mutable_bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>((i * 37 + i / 251) &
                                      (dtype == DType::kBool ? 1u : 63u));
  }
  return tensor;
}

std::vector<VariableSpec> ImportedKinds() {
  return {
      {.name = "f32", .shape = {11, 3}, .optimizer = Adam{}},
      {.name = "f64", .shape = {7}, .dtype = DType::kF64},
      {.name = "f16", .shape = {5, 1}, .dtype = DType::kF16},
      {.name = "bf16", .shape = {3}, .dtype = DType::kBF16},
      {.name = "i32", .shape = {9}, .dtype = DType::kI32},
      {.name = "i64", .shape = {}, .dtype = DType::kI64},
      {.name = "u8", .shape = {2, 3, 5}, .dtype = DType::kU8},
      {.name = "bool", .shape = {13}, .dtype = DType::kBool},
      {.name = "empty", .shape = {0, 4}},
      {.name = "flat", .shape = {4, 0}},
      // More than a piece of a file; and rows that do not divide one.
      {.name = "large", .shape = {70'001, 7}},
      // A row is more than a piece.
      {.name = "wide", .shape = {3, 300'001}},
      {.name = "unset", .shape = {6}, .initializer = Unset{}},
  };
}

TEST(ImportTest, WhatWasExportedComesBackHoweverItIsCut) {
  const TempDir dir;
  {
    Job job(None(), 1, 2);
    job.coordinator.CreateVariables(ImportedKinds(), FixedShards(3));
    for (const VariableSpec& spec : ImportedKinds()) {
      if (spec.shape.num_elements() == 0) continue;
      job.coordinator.Assign(spec.name, Pattern(spec.dtype, spec.shape));
    }
    CheckpointManager manager(job.coordinator, dir.path() + "/ckpt");
    manager.Save();
    manager.Wait();
    manager.Export(dir.path() + "/a.safetensors");
    manager.Export(dir.path() + "/a.npz");
  }
  for (const std::string name : {"/a.safetensors", "/a.npz"}) {
    for (const int servers : {1, 2, 3}) {
      Job job(None(), 1, servers);
      job.coordinator.CreateVariables(ImportedKinds(),
                                      FixedShards(servers + 1));
      const RestoreReport report =
          ImportVariables(job.coordinator, dir.path() + name);
      EXPECT_EQ(report.name, dir.path() + name);
      EXPECT_EQ(report.restored.size(), ImportedKinds().size());
      EXPECT_THAT(report.missing, IsEmpty());
      EXPECT_THAT(report.unexpected, IsEmpty());
      for (const VariableSpec& spec : ImportedKinds()) {
        EXPECT_EQ(job.coordinator.Read(spec.name),
                  Pattern(spec.dtype, spec.shape))
            << spec.name << " of " << name << " on " << servers;
      }
    }
  }
}

TEST(ImportTest, FloatingTypesBecomeThatOfTheVariable) {
  const TempDir dir;
  for (const std::string suffix : {".safetensors", ".npz"}) {
    const std::string path = Write(
        dir, "a" + suffix,
        {{"f16", Tensor::FromValues({2}, {0.1, -2.0})},
         {"f32", Tensor::FromValues({2}, {0.1, -1e30})},
         {"f64", Tensor::FromValues({2}, {0.1f, 3.0f})},
         {"bf16", Tensor::FromValues({2}, {Float16(1.5f), Float16(7.0f)})}});
    Job job(None(), 1, 2);
    for (const DType dtype :
         {DType::kF16, DType::kF32, DType::kF64, DType::kBF16}) {
      job.coordinator.CreateVariables(
          {{.name = std::string(NameOf(dtype)), .shape = {2}, .dtype = dtype}},
          FixedShards(2));
    }
    ImportVariables(job.coordinator, path);
    EXPECT_EQ(job.coordinator.Read("f16"),
              Tensor::FromValues({2}, {Float16(0.1f), Float16(-2.f)}));
    EXPECT_EQ(job.coordinator.Read("f32"),
              Tensor::FromValues({2}, {0.1f, -1e30f}));
    EXPECT_EQ(job.coordinator.Read("f64"),
              Tensor::FromValues({2}, {double{0.1f}, 3.0}));
    EXPECT_EQ(job.coordinator.Read("bf16"),
              Tensor::FromValues({2}, {BFloat16(1.5f), BFloat16(7.f)}));
  }
}

TEST(ImportTest, OptimizersBeginAnew) {
  const TempDir dir;
  const std::string path =
      Write(dir, "a.npz",
            {{"w", Tensor::FromValues<float>({2}, {1, 2})},
             {"w.m", Tensor::FromValues<float>({2}, {3, 4})}});
  Job job(None(), 1, 1);
  job.coordinator.CreateVariables(
      {{.name = "w", .shape = {2}, .optimizer = Adam{}}});
  job.coordinator.Apply(Operation::kGradient,
                        {{"w", Tensor::FromValues<float>({2}, {1, 1})}});
  const RestoreReport report = ImportVariables(job.coordinator, path);
  EXPECT_THAT(report.unexpected, ElementsAre("w.m"));
  EXPECT_THAT(job.Floats("w"), ElementsAre(1, 2));
  const SavedState saved = SaveIn(job.coordinator, dir.path() + "/ckpt");
  EXPECT_EQ(saved.Find("w").shards[0].updates, 0u);
  EXPECT_THAT(saved.Floats("w", "m"), Each(0.0f));
}

class PartialImportTest : public ::testing::Test {
 protected:
  PartialImportTest() {
    job_.coordinator.CreateVariables({{.name = "a/w", .shape = {2}},
                                      {.name = "a/b", .shape = {2}},
                                      {.name = "c/w", .shape = {2}}},
                                     FixedShards(2));
  }
  RestoreReport Import(const Tensors& tensors,
                       const ImportOptions& options = {}) {
    return ImportVariables(job_.coordinator, Write(dir_, "a.npz", tensors),
                           options);
  }
  static Tensor Two(float value) {
    return Tensor::FromValues({2}, {value, value});
  }

  const TempDir dir_;
  Job job_{None(), 1, 2};
};

TEST_F(PartialImportTest, ByPatterns) {
  const RestoreReport report = Import(
      {{"a/w", Two(1)}, {"a/b", Two(2)}, {"c/w", Two(3)}}, {.only = {"*/w"}});
  EXPECT_THAT(report.restored, ElementsAre("a/w", "c/w"));
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(1, 1));
  EXPECT_THAT(job_.Floats("a/b"), ElementsAre(0, 0));
  EXPECT_THAT(job_.Floats("c/w"), ElementsAre(3, 3));
  EXPECT_THAT(Import({{"x", Two(1)}}, {.only = {"x"}}).restored, IsEmpty());
}

TEST_F(PartialImportTest, WithAPrefix) {
  const RestoreReport report =
      Import({{"w", Two(1)}, {"b", Two(2)}, {"x", Two(3)}}, {.prefix = "a/"});
  EXPECT_THAT(report.restored, ElementsAre("a/b", "a/w"));
  EXPECT_THAT(report.missing, IsEmpty());
  EXPECT_THAT(report.unexpected, ElementsAre("a/x"));
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(1, 1));
  EXPECT_THAT(job_.Floats("a/b"), ElementsAre(2, 2));
  EXPECT_THAT(job_.Floats("c/w"), ElementsAre(0, 0));
}

TEST_F(PartialImportTest, MissingOnesStayAndAreListed) {
  const Tensors some = {{"a/w", Two(1)}, {"x", Two(2)}};
  EXPECT_THAT(
      ErrorOf([&] { Import(some); }),
      IsError(ErrorCode::kFailedPrecondition,
              AllOf(HasSubstr("a.npz"), HasSubstr("'a/b', 'c/w' (but 'x')"),
                    HasSubstr("allow_missing"))));
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(0, 0));
  const RestoreReport report = Import(some, {.allow_missing = true});
  EXPECT_THAT(report.restored, ElementsAre("a/w"));
  EXPECT_THAT(report.missing, ElementsAre("a/b", "c/w"));
  EXPECT_THAT(report.unexpected, ElementsAre("x"));
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(1, 1));
}

TEST_F(PartialImportTest, WhatIsWrongIsNamedAndNothingChanges) {
  const auto refused = [&](const Tensors& tensors, ErrorCode code,
                           const auto& why) {
    for (const std::string name : {"b.npz", "b.safetensors"}) {
      const std::string path = Write(dir_, name, tensors);
      EXPECT_THAT(ErrorOf([&] { ImportVariables(job_.coordinator, path); }),
                  IsError(code, AllOf(HasSubstr(path), why)));
      for (const char* variable : {"a/w", "a/b", "c/w"}) {
        EXPECT_THAT(job_.Floats(variable), ElementsAre(0, 0)) << variable;
      }
    }
  };
  refused(
      {{"a/b", Two(1)}, {"a/w", Two(1)}, {"c/w", Pattern(DType::kF32, {3})}},
      ErrorCode::kFailedPrecondition,
      HasSubstr("'c/w' is f32[3] in the file and f32[2] in the job"));
  refused(
      {{"a/b", Two(1)}, {"a/w", Two(1)}, {"c/w", Pattern(DType::kI32, {2})}},
      ErrorCode::kFailedPrecondition,
      HasSubstr("'c/w' is i32[2] in the file and f32[2] in the job"));
  // Found only after the others were staged.
  refused({{"a/b", Two(1)},
           {"a/w", Two(1)},
           {"c/w", Tensor::FromValues({2}, {1.0, 1e300})}},
          ErrorCode::kOutOfRange,
          HasSubstr("tensor \"c/w\": 1e+300 is too large for f32"));
}

TEST_F(PartialImportTest, TensorsThatNobodyWantsMayBeOfAnyType) {
  const std::string path = dir_.path() + "/a.npz";
  std::string text = NpyOf(Tensor::Zeros(DType::kI64, {2}));
  text.replace(text.find("'<i8', "), 7, "'<U16',");
  WriteNpz(path, {Member("labels.npy", text), Member("notes.txt", "text"),
                  Member("a/w.npy", NpyOf(Two(1)))});
  const RestoreReport report =
      ImportVariables(job_.coordinator, path, {.allow_missing = true});
  EXPECT_THAT(report.restored, ElementsAre("a/w"));
  EXPECT_THAT(report.unexpected, ElementsAre("labels"));
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(1, 1));
  WriteNpz(path, {Member("a/w.npy", text)});
  EXPECT_THAT(
      ErrorOf([&] {
        ImportVariables(job_.coordinator, path, {.allow_missing = true});
      }),
      IsError(ErrorCode::kInvalidArgument,
              AllOf(HasSubstr(path),
                    HasSubstr("variable 'a/w': elements of type '<U16' are "
                              "not supported"))));
}

TEST_F(PartialImportTest, DamageIsNamedAndNothingChanges) {
  const std::string path = dir_.path() + "/a.npz";
  RawMember damaged = Member("c/w.npy", NpyOf(Two(3)));
  damaged.crc32 ^= 1;
  WriteNpz(path, {Member("a/b.npy", NpyOf(Two(1))),
                  Member("a/w.npy", NpyOf(Two(1))), damaged});
  EXPECT_THAT(ErrorOf([&] { ImportVariables(job_.coordinator, path); }),
              IsError(ErrorCode::kDataLoss,
                      AllOf(HasSubstr(path), HasSubstr("tensor \"c/w\""))));
  for (const char* variable : {"a/w", "a/b", "c/w"}) {
    EXPECT_THAT(job_.Floats(variable), ElementsAre(0, 0)) << variable;
  }
  // What is not wanted is not read.
  EXPECT_THAT(
      ImportVariables(job_.coordinator, path, {.only = {"a/*"}}).restored,
      ElementsAre("a/b", "a/w"));
}

TEST_F(PartialImportTest, FilesThatAreNone) {
  EXPECT_THAT(
      ErrorOf([&] { ImportVariables(job_.coordinator, dir_.path() + "/a"); }),
      IsError(ErrorCode::kInvalidArgument, HasSubstr(".safetensors or .npz")));
  for (const std::string name : {"/none.npz", "/none.safetensors"}) {
    EXPECT_THAT(
        ErrorOf([&] { ImportVariables(job_.coordinator, dir_.path() + name); }),
        IsError(ErrorCode::kNotFound, HasSubstr(name)));
  }
}

// As the caches of model hubs have them.
TEST_F(PartialImportTest, ThroughASymbolicLink) {
  Write(dir_, "blob.npz", {{"a/w", Two(1)}});
  std::filesystem::create_symlink("blob.npz", dir_.path() + "/model.npz");
  ImportVariables(job_.coordinator, dir_.path() + "/model.npz",
                  {.allow_missing = true});
  EXPECT_THAT(job_.Floats("a/w"), ElementsAre(1, 1));
}

TEST(ImportTest, NoStepIsCutInTwo) {
  const TempDir dir;
  Definitions definitions;
  Door door;
  const auto add = definitions.AddFunction("add", [&](WorkerContext& worker) {
    testing::AddTo(worker, "a");
    door.Wait(worker);
    testing::AddTo(worker, "b");
  });
  Job job(definitions, 3, 2);
  job.CreateCounter("a");
  job.CreateCounter("b");
  const Tensor hundred = Tensor::Scalar<std::int64_t>(100);
  const std::string path =
      Write(dir, "a.npz", {{"a", hundred}, {"b", hundred}});
  for (int i = 0; i < 50; ++i) job.coordinator.Schedule(add);
  // Three are in the middle of their step.
  while (job.Count("a") < 3) std::this_thread::yield();
  std::thread opening([&] { door.Open(); });
  ImportVariables(job.coordinator, path);
  opening.join();
  job.coordinator.Join();
  const std::int64_t a = job.Count("a");
  EXPECT_EQ(job.Count("b"), a);
  EXPECT_GE(a, 100);
  EXPECT_LE(a, 147);
}

}  // namespace
}  // namespace capstan
