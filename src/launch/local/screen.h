// What the user of a job sees: the lines of all tasks, and what the supervisor
// has to say, in one order.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>

#include "capstan/cluster_spec.h"
#include "launch/system/file_descriptor.h"

namespace capstan {

// Writes without ever blocking where that can be had (terminals and pipes):
// whoever reads slowly, or has pressed Ctrl-S, must not stop the supervisor
// from ending the job. What cannot be written waits in memory; the caller stops
// reading the tasks' output while Full. On a terminal the prefixes are
// coloured, lines are cut at its width and control characters are made visible;
// else the bytes are written as they are. What cannot be written at all, since
// the reader is gone, is dropped. Needs SIGPIPE ignored. Not thread-safe.
class Screen {
 public:
  // Lines of tasks go to `output`, messages to `messages`: descriptors, which
  // stay the caller's and are not changed.
  Screen(int output, int messages);
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // "worker/1: line". `line` has no line feed.
  void ShowLine(TaskId task, std::string_view line);

  // "capstan: message".
  void Say(std::string_view message);

  // A line of a report, indented.
  void SayDetail(std::string_view line);

  // Writes what is waiting, as far as that is possible without blocking.
  void Write();

  // Wait for this descriptor to take more, then call Write; -1 if nothing
  // waits.
  int waiting_fd() const;
  bool Full() const { return waiting_bytes_ >= kMaxWaiting; }

 private:
  static constexpr size_t kMaxWaiting = size_t{1} << 20;

  // A place to write to.
  struct Sink {
    explicit Sink(int fd);
    int fd() const { return own.valid() ? own.get() : given; }

    FileDescriptor own;  // `given` opened again, without blocking
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

// `line` as it is fit for a terminal of `width` columns: control characters
// are shown as \xNN, tabs as spaces, and what does not fit is cut. UTF-8 is
// kept whole; each code point counts as one column. Pure; thread-safe.
std::string FitToTerminal(std::string_view line, size_t width);

}  // namespace capstan
