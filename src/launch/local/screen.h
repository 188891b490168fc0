// What the user of a job sees: the lines of all tasks and the supervisor's
// messages, in one order.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "capstan/cluster_spec.h"
#include "launch/system/file_descriptor.h"

namespace capstan {

// Writes never block where that is possible (terminals and pipes): a slow
// reader, or one who pressed Ctrl-S, must not stop the supervisor from ending
// the job. Text that cannot be written yet waits in memory; the caller stops
// reading the tasks' output while Full. On a terminal, prefixes are coloured,
// lines are cut at its width and control characters are made visible; anywhere
// else the bytes are written unchanged. Once the reader is gone, text is
// dropped. Needs SIGPIPE ignored. Not thread-safe.
class Screen {
 public:
  // Task lines go to `output` and messages to `messages`. The caller keeps both
  // descriptors, and they are not changed.
  Screen(int output, int messages);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // "worker/1: line". `line` has no line feed.
  void ShowLine(TaskId task, std::string_view line);

  // "capstan: message".
  void Say(std::string_view message);

  // A line of a report, indented.
  void SayDetail(std::string_view line);

  // Writes as much of the waiting text as it can without blocking.
  void Write();

  // Poll this descriptor for writing, then call Write; -1 if nothing is
  // waiting.
  int waiting_fd() const;
  bool Full() const { return waiting_bytes_ >= kMaxWaiting; }

 private:
  static constexpr size_t kMaxWaiting = size_t{1} << 20;

  // A place to write to.
  struct Sink {
    explicit Sink(int fd);
    int fd() const { return own.valid() ? own.get() : given; }

    FileDescriptor own;  // `given` opened again, non-blocking
    int given;
    bool is_terminal;
    bool broken = false;
  };
  struct Chunk {
    Sink* sink;
    std::string text;
  };

  void Put(Sink& sink, std::string_view text);

  Sink output_;
  Sink messages_;
  std::deque<Chunk> waiting_;
  size_t written_ = 0;  // of the first chunk
  size_t waiting_bytes_ = 0;
};

// `line` made fit for a terminal of `width` columns: control characters become
// xNN, tabs become spaces, and the rest is cut. UTF-8 is kept whole; each code
// point counts as one column. Pure; thread-safe.
std::string FitToTerminal(std::string_view line, size_t width);

}  // namespace capstan
