// Snapshots that servers write to files, and files that they restore from.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/file/posix_file_system.h"
#include "checkpoint/shard_file.h"
#include "parameters/saving.h"
#include "testing/temp_dir.h"

namespace capstan {
namespace {

using absl::StatusCode::kDataLoss;
using absl::StatusCode::kFailedPrecondition;
using absl::StatusCode::kInvalidArgument;
using absl::StatusCode::kNotFound;
using absl::StatusCode::kOutOfRange;
using ::testing::AllOf;
using testing::CommitAll;
using testing::DropSnapshot;
using ::testing::HasSubstr;
using testing::ParameterJob;
using testing::Parts;
using testing::Plain;
using testing::Push;
using testing::ReadParts;
using testing::SomeGradient;
using testing::Spec;
using testing::StatusIs;
using testing::TakeSnapshot;
using testing::TempDir;

constexpr char kProbe[] = "probe";
constexpr char kContent[] = "made just now";
constexpr uint64_t kSaveId = 0xabcdef;

class SnapshotFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<PosixFileSystem>> files =
        PosixFileSystem::Open(dir_.path());
    ASSERT_OK(files);
    files_ = *std::move(files);
    ASSERT_OK(files_->CreateDir("run"));
    ASSERT_OK(files_->CreateDir("run/.tmp-ckpt-3"));
    ASSERT_OK(ReplaceFile(*files_, "run/.tmp-ckpt-3/probe",
                          AsBytes(std::string_view(kContent))));
    job_ = std::make_unique<ParameterJob>(
        testing::ParameterJobOptions{.servers = 2, .checkpoints = files_});
    ASSERT_OK(job_->Create(Specs(), FixedShards(2)));
    for (const VariableSpec& spec : Specs()) {
      if (!spec.optimizer) continue;
      ASSERT_OK(Push(*job_, job_->chief(), job_->NextStep(), spec.name,
                     SomeGradient(1, 21)));
    }
    write_.fence = job_->fence();
    write_.save_id = kSaveId;
    write_.directory = Shared();
    write_.file = "server-0.safetensors";
  }

  static std::vector<VariableSpec> Specs() {
    VariableSpec adam = Spec("adam", {7, 3});
    adam.optimizer = Adam{};
    adam.initializer = Uniform{.seed = 3};
    VariableSpec half = Plain("half", {5}, DType::kBF16);
    half.initializer = Ones{};
    return {adam, half, Plain("wide", {4}, DType::kI64), Plain("scalar", {})};
  }

  static SharedDirectory Shared() {
    return {.path = {"run", ".tmp-ckpt-3"},
            .probe = kProbe,
            .probe_content = kContent};
  }

  absl::StatusOr<SnapshotWriteReply> Write(uint32_t server = 0) {
    return job_->Run(job_->chief(),
                     job_->chief().SnapshotWrite(server, write_));
  }

  // Snapshots, and writes a file for each server.
  void WriteAll() {
    ASSERT_OK(TakeSnapshot(*job_, kSaveId));
    for (uint32_t server = 0; server < 2; ++server) {
      write_.file = "server-" + std::to_string(server) + ".safetensors";
      const absl::StatusOr<SnapshotWriteReply> written = Write(server);
      ASSERT_OK(written);
      SavedFile file;
      file.name = write_.file;
      file.bytes = written->bytes;
      file.crc32c = written->crc32c;
      for (const TensorSum& tensor : written->tensors) {
        file.tensors.push_back({.name = tensor.name, .crc32c = tensor.crc32c});
      }
      saved_.push_back(file);
    }
  }

  // A request of `job` to stage from the file of one server, without copies.
  StageFileRequest StageOf(const ParameterJob& job, size_t server) const {
    const SavedFile& file = saved_[server];
    StageFileRequest request;
    request.fence = job.fence();
    request.restore_id = 1;
    request.map_version = job.map().version();
    request.directory = Shared();
    request.save_id = kSaveId;
    request.file = file.name;
    request.bytes = file.bytes;
    request.crc32c = file.crc32c;
    for (const SavedTensor& tensor : file.tensors) {
      request.tensors.push_back({.name = tensor.name, .crc32c = tensor.crc32c});
    }
    return request;
  }

  // Changes the first bit of a tensor in its file.
  void FlipBitOf(const std::string& tensor, const SavedFile& file) {
    const std::string path = "run/.tmp-ckpt-3/" + file.name;
    const auto reader = ShardFileReader::Open(*files_, path, file, kSaveId);
    ASSERT_OK(reader);
    uint64_t data = 0;
    for (const SavedTensor& saved : file.tensors) {
      data = std::max(data, (*reader)->Find(saved.name)->end);
    }
    std::string content = *ReadFile(*files_, path, file.bytes);
    content[file.bytes - data + (*reader)->Find(tensor)->begin] ^= 1;
    ASSERT_OK(ReplaceFile(*files_, path, AsBytes(content)));
  }

  TempDir dir_;
  std::shared_ptr<FileSystem> files_;
  std::unique_ptr<ParameterJob> job_;
  SnapshotWriteRequest write_;
  std::vector<SavedFile> saved_;
};

TEST_F(SnapshotFileTest, FilesHoldWhatTheSnapshotDoes) {
  WriteAll();
  // What comes after it is in no file.
  const Parts before = ReadParts(*job_, "adam");
  ASSERT_OK(Push(*job_, job_->chief(), job_->NextStep(), "adam",
                 SomeGradient(2, 21)));
  size_t tensors = 0;
  for (uint32_t server = 0; server < 2; ++server) {
    const auto reader =
        ShardFileReader::Open(*files_, "run/.tmp-ckpt-3/" + saved_[server].name,
                              saved_[server], kSaveId);
    ASSERT_OK(reader);
    EXPECT_OK((*reader)->Verify());
    tensors += saved_[server].tensors.size();
    const VariableEntry& entry = *job_->map().Find("adam");
    for (const ShardPlace& place : entry.shards) {
      if (place.server != server) continue;
      for (size_t part = 0; part < before.size(); ++part) {
        constexpr std::string_view kSlots[] = {"", "m", "v"};
        const std::string name =
            ShardTensorName("adam", place.begin, place.end, kSlots[part]);
        const SafetensorsEntry* found = (*reader)->Find(name);
        ASSERT_NE(found, nullptr) << name;
        EXPECT_EQ(found->shape, Shape({place.end - place.begin, 3}));
        std::vector<std::byte> bytes;
        const auto take = [&](uint64_t, Bytes piece) {
          bytes.insert(bytes.end(), piece.begin(), piece.end());
          return absl::OkStatus();
        };
        ASSERT_OK((*reader)->Read(name, take));
        const auto expected =
            std::span(before[part])
                .subspan(static_cast<size_t>(place.begin) * 12, bytes.size());
        EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin()));
      }
    }
  }
  EXPECT_EQ(tensors, 2u * 3 + 2 + 2 + 1);
}

TEST_F(SnapshotFileTest, WritingAgainIsTheSame) {
  ASSERT_OK(TakeSnapshot(*job_, kSaveId));
  const auto first = Write();
  ASSERT_OK(first);
  EXPECT_EQ(*Write(), *first);
  // What an earlier try has left, or somebody has removed, is written anew.
  const std::string path = "run/.tmp-ckpt-3/server-0.safetensors";
  ASSERT_OK(files_->Remove(path));
  EXPECT_EQ(*Write(), *first);
  ASSERT_OK(ReplaceFile(*files_, path, AsBytes(std::string_view("half"))));
  EXPECT_EQ(*Write(), *first);
  EXPECT_EQ(files_->Stat(path)->size, first->bytes);
  EXPECT_EQ(files_->Stat(path)->mode, 0600u);
}

TEST_F(SnapshotFileTest, OnlyInADirectoryThatBothSee) {
  ASSERT_OK(TakeSnapshot(*job_, kSaveId));
  const auto unseen = StatusIs(
      kNotFound, HasSubstr("does not see the coordinator's directory"));
  write_.directory.probe_content = "made yesterday";
  EXPECT_THAT(Write(), unseen);
  write_.directory.probe_content = std::string(kContent) + "x";
  EXPECT_THAT(Write(), unseen);
  write_.directory = Shared();
  write_.directory.probe = "other";
  EXPECT_THAT(Write(), unseen);
  write_.directory = Shared();
  write_.directory.path = {"run", "ckpt-3"};
  EXPECT_THAT(Write(), unseen);
  EXPECT_EQ(*files_->List("run/.tmp-ckpt-3"), std::vector<std::string>{kProbe});
  // A server that has no such directory at all.
  ParameterJob none;
  ASSERT_OK(none.Create({Spec("w", {4})}));
  ASSERT_OK(TakeSnapshot(none, kSaveId));
  write_.directory = Shared();
  EXPECT_THAT(none.Run(none.chief(), none.chief().SnapshotWrite(0, write_)),
              StatusIs(kNotFound, HasSubstr("--checkpoint-dir")));
}

TEST_F(SnapshotFileTest, NamesOnly) {
  ASSERT_OK(TakeSnapshot(*job_, kSaveId));
  const auto refused = StatusIs(kInvalidArgument);
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("a/b"),
        std::string("/etc"), std::string(".hidden"), std::string("a\0b", 3),
        std::string(".tmp-x")}) {
    write_.file = name;
    EXPECT_THAT(Write(), refused) << name;
    write_.file = "server-0.safetensors";
    write_.directory.path = {name, "ckpt-3"};
    EXPECT_THAT(Write(), refused) << name;
    write_.directory = Shared();
    write_.directory.probe = name;
    EXPECT_THAT(Write(), refused) << name;
    write_.directory = Shared();
  }
  for (const char* name : {".tmp-", ".tmp-..", ".tmp-.", ".tmp-/etc", ".."}) {
    write_.directory.path = {"run", name};
    EXPECT_THAT(Write(), refused) << name;
  }
  write_.directory.path = {};
  EXPECT_THAT(Write(), refused);
  write_.directory.path = std::vector<std::string>(17, "a");
  EXPECT_THAT(Write(), refused);
}

TEST_F(SnapshotFileTest, OnlyWhatIsThere) {
  EXPECT_THAT(Write(), StatusIs(kNotFound, HasSubstr("no snapshot")));
  ASSERT_OK(TakeSnapshot(*job_, kSaveId));
  ASSERT_OK(DropSnapshot(*job_, kSaveId));
  EXPECT_THAT(Write(), StatusIs(kNotFound, HasSubstr("no snapshot")));
}

// Files of two servers, restored on three with other shards.
TEST_F(SnapshotFileTest, RestoredFromFiles) {
  WriteAll();
  ParameterJob to({.servers = 3, .checkpoints = files_});
  ASSERT_OK(to.Create(Specs(), FixedShards(3)));
  std::vector<std::string> names;
  for (const VariableSpec& spec : Specs()) {
    names.push_back(spec.name);
    const VariableEntry& source = *job_->map().Find(spec.name);
    const VariableEntry& target = *to.map().Find(spec.name);
    for (const ShardPlace& from : source.shards) {
      for (uint32_t i = 0; i < target.shards.size(); ++i) {
        const ShardPlace& place = target.shards[i];
        const int64_t begin = std::max(from.begin, place.begin);
        const int64_t end = std::min(from.end, place.end);
        if (begin >= end) continue;
        StageFileRequest request = StageOf(to, from.server);
        for (uint32_t slot = 0; slot <= testing::NumSlots(spec); ++slot) {
          constexpr std::string_view kSlots[] = {"", "m", "v"};
          request.copies.push_back(
              {.tensor = ShardTensorName(spec.name, from.begin, from.end,
                                         kSlots[slot]),
               .key = {.variable = target.id, .shard = i},
               .slot = slot,
               .source_row = static_cast<uint64_t>(begin - from.begin),
               .rows = static_cast<uint64_t>(end - begin),
               .target_row = static_cast<uint64_t>(begin - place.begin)});
        }
        // Twice, as after an answer that was lost.
        for (int times = 0; times < 2; ++times) {
          ASSERT_OK(
              to.Run(to.chief(), to.chief().StageFile(place.server, request)));
        }
      }
    }
  }
  ASSERT_OK(CommitAll(to, names, 1, {.updates = 1}, /*slots=*/true));
  for (const std::string& name : names) {
    EXPECT_EQ(ReadParts(to, name), ReadParts(*job_, name)) << name;
  }
}

TEST_F(SnapshotFileTest, WhatIsNotAsSaidIsNotStaged) {
  WriteAll();
  const VariableEntry& entry = *job_->map().Find("adam");
  const ShardPlace& place = entry.shards[0];
  const ShardKey key = {.variable = entry.id, .shard = 0};
  const std::string tensor = ShardTensorName("adam", place.begin, place.end);
  const auto rows = static_cast<uint64_t>(place.end - place.begin);
  const StageCopy all = {.tensor = tensor, .key = key, .rows = rows};
  StageFileRequest request = StageOf(*job_, place.server);
  const auto stage = [&](std::vector<StageCopy> copies) {
    request.copies = std::move(copies);
    return job_->Run(job_->chief(),
                     job_->chief().StageFile(place.server, request));
  };
  StageCopy copy = all;
  copy.target_row = 1;
  EXPECT_THAT(stage({copy}), StatusIs(kOutOfRange, HasSubstr("from 1 on")));
  copy.target_row = UINT64_MAX;
  EXPECT_THAT(stage({copy}), StatusIs(kOutOfRange));
  copy = all;
  copy.source_row = 1;
  EXPECT_THAT(stage({copy}), StatusIs(kOutOfRange, HasSubstr(tensor)));
  copy.source_row = UINT64_MAX;
  EXPECT_THAT(stage({copy}), StatusIs(kOutOfRange));
  copy = all;
  copy.slot = 3;
  EXPECT_THAT(stage({copy}), StatusIs(kOutOfRange, HasSubstr("2 slots")));
  copy = all;
  copy.key.shard = 9;
  EXPECT_THAT(stage({copy}), StatusIs(absl::StatusCode::kAborted));
  copy = all;
  copy.tensor = "none";
  EXPECT_THAT(stage({copy}),
              StatusIs(kInvalidArgument, HasSubstr("no tensor 'none'")));
  // Of another type, and of other rows.
  for (const SavedTensor& other : saved_[place.server].tensors) {
    if (other.name.starts_with("adam")) continue;
    copy = all;
    copy.tensor = other.name;
    copy.rows = 1;
    EXPECT_THAT(stage({copy}),
                StatusIs(kInvalidArgument,
                         AllOf(HasSubstr(other.name), HasSubstr("f32[7, 3]"))));
  }
  EXPECT_EQ(job_->Run(job_->chief(),
                      job_->chief().StageDrop({.fence = job_->fence()})),
            absl::OkStatus());
  // A bit of it has changed: what was staged of it before does not count.
  request = StageOf(*job_, place.server);
  ASSERT_OK(stage({all}));
  FlipBitOf(tensor, saved_[place.server]);
  EXPECT_THAT(stage({all}), StatusIs(kDataLoss, HasSubstr(tensor)));
  EXPECT_THAT(CommitAll(*job_, {"adam"}, 1, {}, false),
              StatusIs(kFailedPrecondition));
  request = StageOf(*job_, place.server);
  ++request.save_id;
  EXPECT_THAT(stage({all}), StatusIs(kDataLoss));
  request = StageOf(*job_, place.server);
  request.directory.probe_content = "other";
  EXPECT_THAT(stage({all}), StatusIs(kNotFound));
  request.directory = Shared();
  request.file = "../server-0.safetensors";
  EXPECT_THAT(stage({all}), StatusIs(kInvalidArgument));
  EXPECT_EQ(job_->Report("adam").version, 2u);
}

}  // namespace
}  // namespace capstan
