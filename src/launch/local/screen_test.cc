#include "launch/local/screen.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <string>

namespace capstan {
namespace {

constexpr TaskId kWorker1 = {Role::kWorker, 1};

// A pipe that a Screen writes to.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends;
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    reader = FileDescriptor(ends[0]);
    writer = FileDescriptor(ends[1]);
    fcntl(reader.get(), F_SETFL, O_NONBLOCK);
  }

  std::string Read() const {
    std::string all;
    std::array<char, 4096> buffer;
    ssize_t count;
    while ((count = read(reader.get(), buffer.data(), buffer.size())) > 0) {
      all.append(buffer.data(), static_cast<size_t>(count));
    }
    return all;
  }

  FileDescriptor reader;
  FileDescriptor writer;
};

TEST(ScreenTest, PlainIntoAPipe) {
  const Pipe pipe;
  Screen screen(pipe.writer.get(), pipe.writer.get());
  screen.ShowLine(kWorker1, "loss 0.5\t\x1b[1m");
  screen.Say("worker/1 failed");
  screen.SayDetail("why");
  screen.Write();
  EXPECT_EQ(screen.waiting_fd(), -1);
  EXPECT_EQ(pipe.Read(),
            "worker/1: loss 0.5\t\x1b[1m\ncapstan: worker/1 failed\n  why\n");
}

TEST(ScreenTest, ASlowReaderDoesNotBlock) {
  const Pipe pipe;
  Screen screen(pipe.writer.get(), pipe.writer.get());
  const std::string line(1000, 'x');
  size_t lines = 0;
  while (!screen.Full()) {
    screen.ShowLine(kWorker1, line);
    screen.Write();
    ++lines;
  }
  ASSERT_GE(screen.waiting_fd(), 0);
  // Others that share the pipe still see it blocking.
  EXPECT_EQ(fcntl(pipe.writer.get(), F_GETFL) & O_NONBLOCK, 0);
  std::string all;
  while (screen.waiting_fd() >= 0) {
    all += pipe.Read();
    screen.Write();
  }
  all += pipe.Read();
  EXPECT_EQ(all.size(), lines * (10 + 1000 + 1));
  EXPECT_FALSE(screen.Full());
}

TEST(ScreenTest, AReaderThatIsGoneIsForgotten) {
  signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  const Pipe messages;
  Screen screen(pipe.writer.get(), messages.writer.get());
  pipe.reader.Close();
  screen.ShowLine(kWorker1, "lost");
  screen.Say("seen");
  screen.Write();
  screen.ShowLine(kWorker1, "lost");
  EXPECT_EQ(screen.waiting_fd(), -1);
  EXPECT_EQ(messages.Read(), "capstan: seen\n");
}

TEST(ScreenTest, ColouredAndShortOnATerminal) {
  const FileDescriptor terminal(posix_openpt(O_RDWR | O_NOCTTY));
  ASSERT_TRUE(terminal.valid());
  ASSERT_EQ(grantpt(terminal.get()), 0);
  ASSERT_EQ(unlockpt(terminal.get()), 0);
  const FileDescriptor user(open(ptsname(terminal.get()), O_RDWR | O_NOCTTY));
  const winsize size = {24, 20, 0, 0};
  ASSERT_EQ(ioctl(user.get(), TIOCSWINSZ, &size), 0);

  Screen screen(user.get(), user.get());
  screen.ShowLine(kWorker1, "0123456789abcdef");
  screen.Write();
  std::array<char, 200> buffer;
  const ssize_t count = read(terminal.get(), buffer.data(), buffer.size());
  ASSERT_GT(count, 0);
  EXPECT_EQ(std::string(buffer.data(), static_cast<size_t>(count)),
            "\x1b[34mworker/1: \x1b[0m0123456789\r\n");
}

TEST(FitToTerminalTest, MakesControlCharactersVisible) {
  EXPECT_EQ(FitToTerminal("a\x1b[2Jb\tc", 80), "a\\x1b[2Jb c");
  EXPECT_EQ(FitToTerminal(std::string("\0\x7f", 2), 80), "\\x00\\x7f");
}

TEST(FitToTerminalTest, CutsBetweenCodePoints) {
  EXPECT_EQ(FitToTerminal("größer", 3), "grö");
  EXPECT_EQ(FitToTerminal("größer", 6), "größer");
  EXPECT_EQ(FitToTerminal("ab\n", 5), "ab");
  EXPECT_EQ(FitToTerminal("", 0), "");
}

}  // namespace
}  // namespace capstan
