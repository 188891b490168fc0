// The experiments; main.cc says what they measure. All but the last function
// run in the body of the job, and throw.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench_checkpoint/job.h"
#include "bench_checkpoint/plain_files.h"
#include "capstan/checkpoint.h"
#include "harness/report.h"
#include "tensor/buffer.h"

namespace capstan::bench {

// What the experiments use.
struct Bench {
  RunningJob& job;
  CheckpointManager& checkpoints;
  PerWorker<Gradients> gradients;
  std::string plain_directory;  // on the same disk as the checkpoints
  Buffer memory;                // for the references, as large as the state
  Buffer other_memory;
};

// One sample per round. Times are in seconds.
struct Figures {
  using Samples = std::vector<double>;
  Samples memcpy_time;
  Samples drain, pause, stall, normal_stall;
  Samples normal_rate, saving_rate, background_ratio;
  Samples memory_ratio, normal_memory_ratio;
  Samples write_time, plain_write_time;
  Samples restore_time, plain_read_time, plain_read_new_time;
  Samples cold_restore_time, plain_cold_read_time;
  Samples verify_time;
};

// The files of a checkpoint, each with a part of `memory`.
std::vector<PlainFile> FilesOf(const CheckpointManager& checkpoints,
                               const std::string& name, Buffer& memory);

// Without training: how long writing the files takes, ours and plain ones, in
// the order given by `ours_first`.
void MeasureWrite(Bench& bench, bool ours_first, Figures& figures);
// Saves during training: the cost to training, and the memory.
void MeasureSaveBesideTraining(Bench& bench, Figures& figures);
// For the newest checkpoint: from the page cache, and from the disk.
void MeasureRestore(Bench& bench, bool ours_first, Figures& figures);

// All experiments, in a separate job: with a directory that the servers can
// access, or with `stream` without one. Files go below `directory`. Keys start
// with `prefix`.
absl::Status MeasureCheckpoints(const std::string& directory, bool stream,
                                int rounds, const std::string& prefix,
                                Report& report);

}  // namespace capstan::bench
