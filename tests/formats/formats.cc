// Writes and reads files of the formats that other programs share with
// Capstan, for tools/test_formats to compare with what those programs make.
//
//   formats events DIRECTORY            an event file in it
//   formats safetensors DIRECTORY       capstan.safetensors in it
//   formats checkpoint DIRECTORY        ckpt-1 in it, and all of that exported
//                                       as all.safetensors and all.npz
//   formats zip DIRECTORY COUNT BYTES   many.zip in it: COUNT members that hold
//                                       their names, and "last", of so many
//                                       bytes
//   formats copy DIRECTORY FROM TO      reads a safetensors file, writes it
//   formats pieces DIRECTORY FROM TO    reads a .safetensors or .npz file piece
//                                       by piece, writes a safetensors file
//   formats records FROM TO             reads a TFRecord file, writes it
//   formats examples FROM TO            the same, through tf.Example: "x",
//   three
//                                       floats, "id", an integer, "name", bytes
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/async/real_clock.h"
#include "base/file/posix_file_system.h"
#include "base/status.h"
#include "capstan/dataset.h"
#include "checkpoint/export.h"
#include "checkpoint/small_checkpoint_test.h"
#include "checkpoint/tensor_file/crc32_zip.h"
#include "checkpoint/tensor_file/safetensors.h"
#include "checkpoint/tensor_file/tensor_file.h"
#include "checkpoint/tensor_file/zip_writer.h"
#include "telemetry/event_file.h"

namespace capstan {
namespace {

absl::Status WriteEvents(FileSystem& files) {
  RealClock clock;
  auto made =
      EventFile::Create(files, "run", clock, {.host = "formats", .process = 1});
  CAPSTAN_RETURN_IF_ERROR(made.status());
  EventFile& events = **made;
  const std::vector<HParamMetric> metrics = {{"loss"}};
  CAPSTAN_RETURN_IF_ERROR(events.HParams(
      {{"learning_rate", 0.125}, {"optimizer", "sgd"}, {"shuffle", true}},
      metrics));
  std::vector<float> values;
  for (int step = 0; step < 100; ++step) {
    values.push_back(static_cast<float>(step));
    CAPSTAN_RETURN_IF_ERROR(events.Scalar("loss", step, 1.0 / (step + 1)));
    CAPSTAN_RETURN_IF_ERROR(events.Histogram("weights", step, values));
  }
  CAPSTAN_RETURN_IF_ERROR(events.Text("note", 3, "*grüße*"));
  CAPSTAN_RETURN_IF_ERROR(events.EndHParams(HParamsOutcome::kSuccess));
  return events.Flush();
}

absl::Status WriteTensors(FileSystem& files) {
  const Tensor f32 = Tensor::FromValues({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  const Tensor f64 = Tensor::Scalar(0.1);
  const Tensor f16 = Tensor::FromValues({2}, {Float16(1.5f), Float16(-2.f)});
  const Tensor bf16 = Tensor::FromValues({2}, {BFloat16(1.f), BFloat16(3.f)});
  const Tensor i32 = Tensor::FromValues<int32_t>({3}, {-1, 0, 1});
  const Tensor i64 = Tensor::FromValues<int64_t>({1, 1}, {int64_t{1} << 40});
  const Tensor u8 = Tensor::FromValues<uint8_t>({5}, {0, 1, 2, 254, 255});
  const Tensor boolean = Tensor::FromValues({3}, {true, false, true});
  const Tensor none = Tensor::Zeros(DType::kF32, {0, 4});
  const std::vector<NamedTensor> tensors = {
      {"bool", boolean.view()},  {"u8", u8.view()},   {"f32", f32.view()},
      {"dense/f64", f64.view()}, {"f16", f16.view()}, {"bf16", bf16.view()},
      {"i32", i32.view()},       {"i64", i64.view()}, {"größe", none.view()}};
  return WriteSafetensors(files, "capstan.safetensors", tensors,
                          {{"framework", "capstan"}, {"note", "\"a\"\n"}});
}

absl::Status WriteCheckpoint(FileSystem& files) {
  const auto saved =
      testing::SaveSmall(files, "", {.seed = 1, .step = 1200, .rows = 1000});
  CAPSTAN_RETURN_IF_ERROR(saved.status());
  const ExportOptions options{.slots = true};
  CAPSTAN_RETURN_IF_ERROR(ExportSafetensors(files, "ckpt-1", saved->manifest,
                                            files, "all.safetensors", options));
  return ExportNpz(files, "ckpt-1", saved->manifest, files, "all.npz", options);
}

absl::Status WriteZip(FileSystem& files, uint64_t count, uint64_t bytes) {
  const std::string zeros(1 << 20, '\0');
  const auto in_pieces = [&](const auto& take) -> absl::Status {
    for (uint64_t left = bytes; left > 0;) {
      const auto size = std::min<uint64_t>(left, zeros.size());
      CAPSTAN_RETURN_IF_ERROR(take(AsBytes(zeros).first(size)));
      left -= size;
    }
    return absl::OkStatus();
  };
  auto file = files.CreateForWrite("many.zip", IfExists::kTruncate);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  ZipWriter zip(**file);
  const auto add = [&](const std::string& name) -> absl::Status {
    CAPSTAN_RETURN_IF_ERROR(
        zip.Begin(name, name.size(), ExtendZipCrc32(0, AsBytes(name))));
    return zip.Append(AsBytes(name));
  };
  for (uint64_t i = 0; i < count; ++i) {
    CAPSTAN_RETURN_IF_ERROR(add("größe" + std::to_string(i)));
  }
  uint32_t crc = 0;
  CAPSTAN_RETURN_IF_ERROR(in_pieces([&](Bytes piece) {
    crc = ExtendZipCrc32(crc, piece);
    return absl::OkStatus();
  }));
  CAPSTAN_RETURN_IF_ERROR(zip.Begin("last", bytes, crc));
  CAPSTAN_RETURN_IF_ERROR(
      in_pieces([&](Bytes piece) { return zip.Append(piece); }));
  // Behind the large one, so that its place is a large number.
  CAPSTAN_RETURN_IF_ERROR(add("behind"));
  CAPSTAN_RETURN_IF_ERROR(zip.Finish());
  return (*file)->Close();
}

absl::Status Copy(FileSystem& files, std::string_view from,
                  std::string_view to) {
  const absl::StatusOr<Safetensors> read = ReadSafetensors(files, from);
  CAPSTAN_RETURN_IF_ERROR(read.status());
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < read->names.size(); ++i) {
    tensors.push_back({read->names[i], read->tensors[i].view()});
  }
  return WriteSafetensors(files, to, tensors, read->metadata);
}

absl::Status CopyPieces(FileSystem& files, std::string_view from,
                        std::string_view to) {
  const absl::StatusOr<TensorFormat> format = TensorFormatOf(from);
  CAPSTAN_RETURN_IF_ERROR(format.status());
  auto opened = files.OpenForRead(from);
  CAPSTAN_RETURN_IF_ERROR(opened.status());
  const auto file = OpenTensorFile(*std::move(opened), from, *format);
  CAPSTAN_RETURN_IF_ERROR(file.status());
  std::vector<Tensor> tensors;
  std::vector<NamedTensor> named;
  for (const FileTensor& tensor : (*file)->tensors()) {
    Tensor& whole =
        tensors.emplace_back(Tensor::Zeros(tensor.dtype, tensor.shape));
    const MutableBytes bytes = whole.mutable_view().mutable_bytes();
    CAPSTAN_RETURN_IF_ERROR(
        (*file)->Read(tensor.name, [&bytes](uint64_t offset, Bytes piece) {
          std::copy(piece.begin(), piece.end(),
                    bytes.subspan(offset, piece.size()).begin());
          return absl::OkStatus();
        }));
    named.push_back({tensor.name, whole.view()});
  }
  return WriteSafetensors(files, to, named);
}

void CopyRecords(const std::string& from, const std::string& to) {
  const Dataset::Source source = Dataset::TfRecord(from).Open();
  std::vector<std::string> records;
  while (const std::optional<Example> example = source()) {
    records.emplace_back(AsText((*example)["record"].view().bytes()));
  }
  WriteTfRecords(to, records);
}

void CopyExamples(const std::string& from, const std::string& to) {
  TfRecordOptions options;
  options.features = {
      {.name = "x", .dtype = DType::kF32, .shape = Shape({3})},
      {.name = "id", .dtype = DType::kI64, .shape = Shape()},
      {.name = "name", .dtype = DType::kU8, .shape = std::nullopt}};
  const Dataset::Source source = Dataset::TfRecord(from, options).Open();
  std::vector<std::string> records;
  while (const std::optional<Example> example = source()) {
    records.push_back(EncodeTfExample(*example));
  }
  WriteTfRecords(to, records);
}

absl::Status Run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return absl::InvalidArgumentError("see formats.cc");
  if (arguments.size() == 3) {
    const auto copy = arguments[0] == "records" ? CopyRecords : CopyExamples;
    copy(arguments[1], arguments[2]);
    return absl::OkStatus();
  }
  const auto files = PosixFileSystem::Open(arguments[1]);
  CAPSTAN_RETURN_IF_ERROR(files.status());
  if (arguments[0] == "events") return WriteEvents(**files);
  if (arguments[0] == "safetensors") return WriteTensors(**files);
  if (arguments[0] == "checkpoint") return WriteCheckpoint(**files);
  if (arguments[0] == "zip" && arguments.size() == 4) {
    return WriteZip(**files, std::stoull(arguments[2]),
                    std::stoull(arguments[3]));
  }
  if (arguments[0] == "copy" && arguments.size() == 4) {
    return Copy(**files, arguments[2], arguments[3]);
  }
  if (arguments[0] == "pieces" && arguments.size() == 4) {
    return CopyPieces(**files, arguments[2], arguments[3]);
  }
  return absl::InvalidArgumentError("see formats.cc");
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  try {
    const absl::Status status =
        capstan::Run(std::vector<std::string>(argv + 1, argv + argc));
    if (status.ok()) return EXIT_SUCCESS;
    std::cerr << capstan::Describe(status) << "\n";
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
  }
  return EXIT_FAILURE;
}
