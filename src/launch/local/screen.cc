#include "launch/local/screen.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <limits>

namespace capstan {
namespace {

// Opens a terminal or pipe again: O_NONBLOCK belongs to the open file
// description, which is shared with whoever started us. Invalid if that is
// impossible.
FileDescriptor OpenAgain(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return FileDescriptor();
  if (!S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode)) {
    return FileDescriptor();
  }
  return FileDescriptor(open(fmt::format("/proc/self/fd/{}", fd).c_str(),
                             O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

size_t TerminalWidth(int fd) {
  winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// Colours that are readable on black and on white. Adjacent tasks differ.
std::string_view ColourOf(TaskId task) {
  constexpr std::array<std::string_view, 4> kWorkers = {"\x1b[36m", "\x1b[34m",
                                                        "\x1b[96m", "\x1b[94m"};
  switch (task.role) {
    case Role::kChief:
      return "\x1b[32m";
    case Role::kPs:
      return "\x1b[35m";
    case Role::kEvaluator:
      return "\x1b[33m";
    default:
      return kWorkers[static_cast<size_t>(task.index) % kWorkers.size()];
  }
}

}  // namespace

Screen::Sink::Sink(int fd)
    : own(OpenAgain(fd)), given(fd), is_terminal(isatty(fd) == 1) {}

Screen::Screen(int output, int messages)
    : output_(output), messages_(messages) {}

void Screen::ShowLine(TaskId task, std::string_view line) {
  const std::string prefix = task.ToString() + ": ";
  if (!output_.is_terminal) {
    Put(output_, fmt::format("{}{}\n", prefix, line));
    return;
  }
  const size_t width = TerminalWidth(output_.given);
  const size_t left = width > prefix.size() ? width - prefix.size() : 1;
  Put(output_, fmt::format("{}{}\x1b[0m{}\n", ColourOf(task), prefix,
                           FitToTerminal(line, left)));
}

void Screen::Say(std::string_view message) {
  Put(messages_, fmt::format("capstan: {}\n", message));
}

void Screen::SayDetail(std::string_view line) {
  constexpr size_t kNoLimit = std::numeric_limits<size_t>::max();
  Put(messages_, messages_.is_terminal
                     ? fmt::format("  {}\n", FitToTerminal(line, kNoLimit))
                     : fmt::format("  {}\n", line));
}

void Screen::Put(Sink& sink, std::string_view text) {
  if (sink.broken) return;
  // Small enough not to be moved around, large enough for few system calls.
  constexpr size_t kChunk = size_t{1} << 16;
  if (waiting_.empty() || waiting_.back().sink != &sink ||
      waiting_.back().text.size() >= kChunk) {
    waiting_.push_back({&sink, ""});
  }
  waiting_.back().text += text;
  waiting_bytes_ += text.size();
}

void Screen::Write() {
  while (!waiting_.empty()) {
    const Chunk& chunk = waiting_.front();
    ssize_t count = 0;
    if (!chunk.sink->broken) {
      count = write(chunk.sink->fd(), chunk.text.data() + written_,
                    chunk.text.size() - written_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
    }
    // The reader is gone or the disk is full: nothing better can be done.
    if (count <= 0) {
      chunk.sink->broken = true;
      count = static_cast<ssize_t>(chunk.text.size() - written_);
    }
    written_ += static_cast<size_t>(count);
    waiting_bytes_ -= static_cast<size_t>(count);
    if (written_ == chunk.text.size()) {
      waiting_.pop_front();
      written_ = 0;
    }
  }
}

int Screen::waiting_fd() const {
  return waiting_.empty() ? -1 : waiting_.front().sink->fd();
}

std::string FitToTerminal(std::string_view line, size_t width) {
  std::string fitted;
  size_t columns = 0;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = (byte & 0xc0) == 0x80;  // within a code point
    const bool is_control = byte < 0x20 || byte == 0x7f;
    const size_t needed = continues ? 0 : is_control && c != '\t' ? 4 : 1;
    if (columns + needed > width) return fitted;
    columns += needed;
    if (c == '\t') {
      fitted += ' ';
    } else if (is_control) {
      fitted += fmt::format("\\x{:02x}", byte);
    } else {
      fitted += c;
    }
  }
  return fitted;
}

}  // namespace capstan
