// A `capstan run` under test, as a process in a folder of its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "launch/system/spawn.h"
#include "testing/temp_dir.h"

namespace capstan::testing {

// Every wait ends, with a failure of the test, after a minute.
class RunProcess {
 public:
  struct Options {
    // Of `capstan run`, before "--".
    std::vector<std::string> flags = {};
    // What parameter servers run.
    std::string server = "exit 0";
    // Run by the shell before it becomes `capstan run`.
    std::string before = ":";
  };

  // Starts `capstan run` with the flags -- sh -c `script`.
  explicit RunProcess(const std::string& script)
      : RunProcess(script, Options()) {}
  RunProcess(const std::string& script, const Options& options);

  // Starts `capstan` with these arguments.
  explicit RunProcess(const std::vector<std::string>& arguments)
      : RunProcess(arguments, Options()) {}
  RunProcess(const std::vector<std::string>& arguments, const Options& options);

  // Kills it if it still runs.
  ~RunProcess();
  RunProcess(const RunProcess&) = delete;
  RunProcess& operator=(const RunProcess&) = delete;

  // Reads until the output has `text` this often, or ends.
  void WaitForOutput(std::string_view text, int times = 1);

  // Waits, without reading, until at least so many bytes can be read.
  void WaitForUnread(int bytes);

  void Signal(int signal_number) const;

  // Reads to the end of the output, waits for the end of the process, and
  // returns its exit code as a shell does.
  int Wait();

  // The same, but the output is not read before the process has ended.
  int WaitWithoutReading();

  // What was read, standard error and output as they came.
  const std::string& output() const { return output_; }

  // The text after each `mark` in the output, to the end of the line.
  std::vector<std::string> After(std::string_view mark) const;

  // The log of a task ("worker-1"): of the one run that there is.
  std::string Log(const std::string& task) const;

  pid_t pid() const { return process_.pid; }
  const TempDir& dir() const { return dir_; }

 private:
  bool ReadSome();
  int Reap();

  TempDir dir_;
  SpawnedProcess process_;
  bool reaped_ = false;
  std::string output_;
};

// Waits until there is no such process any more, or only its exit code.
void WaitUntilGone(pid_t pid);

// Whether there is such a process, and it has not ended.
bool IsAlive(pid_t pid);

}  // namespace capstan::testing
