#include "launch/system/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file/open_files.h"

namespace capstan {
namespace {

// What the child needs, prepared before the fork: afterwards only system calls
// are safe, because another thread may hold the allocator's lock.
struct Plan {
  const char* program;
  char** arguments;
  char** environment;
  int input;
  int output;
  int failure;  // Receives the errno of the failing call; closed by exec.
  pid_t parent;
};

[[noreturn]] void Fail(const Plan& plan) {
  const int error = errno;
  // If the parent is gone, there is nobody to tell.
  [[maybe_unused]] const ssize_t written =
      write(plan.failure, &error, sizeof(error));
  _exit(127);
}

[[noreturn]] void Exec(const Plan& plan) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the line above.
  if (getppid() != plan.parent) _exit(127);
  setpgid(0, 0);
  for (const int signal_number : {SIGINT, SIGTERM, SIGPIPE}) {
    signal(signal_number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (dup2(plan.input, STDIN_FILENO) < 0 ||
      dup2(plan.output, STDOUT_FILENO) < 0 ||
      dup2(plan.output, STDERR_FILENO) < 0) {
    Fail(plan);
  }
  execve(plan.program, plan.arguments, plan.environment);
  Fail(plan);
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

absl::Status NoResource(const char* call, int error) {
  return absl::ResourceExhaustedError(
      absl::StrCat("cannot start a process: ", call, ": ", strerror(error),
                   OpenFilesRemedy(error)));
}

absl::Status CannotRun(const std::string& program, int error) {
  const std::string message = absl::StrCat(
      "cannot run ", program, ": ", strerror(error), OpenFilesRemedy(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case ENOEXEC:
      return absl::PermissionDeniedError(
          message + " (a script needs a first line such as #!/bin/sh)");
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::PermissionDeniedError(message);
  }
}

// A pipe whose ends are above the standard descriptors: the child duplicates
// them onto those, and an end that already was one would be closed by exec.
absl::Status MakePipe(FileDescriptor& reader, FileDescriptor& writer) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return NoResource("pipe", errno);
  const FileDescriptor low_reader(ends[0]);
  const FileDescriptor low_writer(ends[1]);
  reader = FileDescriptor(fcntl(ends[0], F_DUPFD_CLOEXEC, 3));
  writer = FileDescriptor(fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
  if (!reader.valid() || !writer.valid()) return NoResource("fcntl", errno);
  return absl::OkStatus();
}

// Waits until the child has started its program (0) or failed to (errno).
int ReadFailure(int fd) {
  int error = 0;
  ssize_t count;
  do {
    count = read(fd, &error, sizeof(error));
  } while (count < 0 && errno == EINTR);
  return count == sizeof(error) ? error : 0;
}

}  // namespace

absl::StatusOr<SpawnedProcess> Spawn(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::string>& environment) {
  std::vector<std::string> argument_texts = arguments;
  std::vector<std::string> environment_texts = environment;
  std::vector<char*> argument_pointers = Pointers(argument_texts);
  std::vector<char*> environment_pointers = Pointers(environment_texts);

  FileDescriptor output_reader;
  FileDescriptor output_writer;
  FileDescriptor failure_reader;
  FileDescriptor failure_writer;
  for (const absl::Status& made : {MakePipe(output_reader, output_writer),
                                   MakePipe(failure_reader, failure_writer)}) {
    if (!made.ok()) return made;
  }
  const FileDescriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid()) return NoResource("/dev/null", errno);
  if (fcntl(output_reader.get(), F_SETFL, O_NONBLOCK) != 0) {
    return NoResource("fcntl", errno);
  }

  const Plan plan = {
      program.c_str(), argument_pointers.data(), environment_pointers.data(),
      null.get(),      output_writer.get(),      failure_writer.get(),
      getpid()};
  const pid_t pid = fork();
  if (pid == 0) Exec(plan);
  if (pid < 0) return NoResource("fork", errno);
  failure_writer.Close();
  if (const int error = ReadFailure(failure_reader.get()); error != 0) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
    return CannotRun(program, error);
  }
  return SpawnedProcess{pid, std::move(output_reader)};
}

absl::Status Become(const std::string& program,
                    const std::vector<std::string>& arguments,
                    const std::vector<std::string>& environment) {
  std::vector<std::string> argument_texts = arguments;
  std::vector<std::string> environment_texts = environment;
  std::vector<char*> argument_pointers = Pointers(argument_texts);
  std::vector<char*> environment_pointers = Pointers(environment_texts);
  execve(program.c_str(), argument_pointers.data(),
         environment_pointers.data());
  return CannotRun(program, errno);
}

}  // namespace capstan
