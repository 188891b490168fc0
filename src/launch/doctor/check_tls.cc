#include "launch/doctor/check_tls.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

#include "launch/security/tls_directory.h"
#include "launch/system/date_text.h"
#include "transport/tls/tls_context.h"

namespace capstan {
namespace {

namespace fs = std::filesystem;

constexpr auto kSoon = std::chrono::days(30);

// The permission bits, following links; 0 if there is no such file.
mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 0777 : 0;
}

// One run of CheckTls.
class Checker {
 public:
  Checker(const std::string& directory, Clock& clock)
      : directory_(directory), clock_(clock) {}

  Findings Run(const std::vector<TaskId>& tasks) {
    std::error_code error;
    if (!fs::is_directory(directory_, error)) {
      Problem(fmt::format("TLS: there is no directory '{}'", directory_),
              fmt::format("make it with: capstan certs {}", directory_));
      return findings_;
    }
    CheckModes();
    for (const std::string& name : ListNames()) CheckPair(name);
    CheckTasks(tasks);
    if (good_ > 0) {
      findings_.push_back(
          {FindingLevel::kOk,
           fmt::format("TLS: {} certificate{} in '{}' good, the first until {}",
                       good_, good_ == 1 ? "" : "s", directory_,
                       DateText(first_end_)),
           ""});
    } else if (findings_.empty()) {
      Problem(fmt::format("TLS: no certificates in '{}'", directory_),
              fmt::format("make them with: capstan certs {}", directory_));
    }
    return findings_;
  }

 private:
  std::string PathOf(const std::string& file) const {
    return (fs::path(directory_) / file).string();
  }

  void Problem(std::string what, std::string remedy) {
    findings_.push_back(
        {FindingLevel::kProblem, std::move(what), std::move(remedy)});
  }

  void CheckModes() {
    if ((ModeOf(directory_) & 0022) != 0) {
      Problem(fmt::format("TLS: others can write into '{}', and so replace "
                          "certificates",
                          directory_),
              fmt::format("run: chmod 700 {}", directory_));
    }
    // Each task checks its own key, but no task checks this one.
    const std::string ca_key = PathOf("ca.key");
    if ((ModeOf(ca_key) & 0077) != 0) {
      Problem(fmt::format("TLS: '{}' is open to others than its owner, and "
                          "whoever has it can be any task",
                          ca_key),
              fmt::format("make new certificates if somebody may have read "
                          "it; run: chmod 600 {}",
                          ca_key));
    }
  }

  // NAME for every NAME.pem and NAME.key except the CA's, in order.
  std::set<std::string> ListNames() const {
    std::set<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(directory_, error), end; !error && at != end;
         at.increment(error)) {
      const fs::path file = at->path().filename();
      if (file.extension() != ".pem" && file.extension() != ".key") continue;
      if (file.stem() != "ca") names.insert(file.stem().string());
    }
    return names;
  }

  void CheckPair(const std::string& name) {
    TlsOptions files;
    files.ca_file = PathOf("ca.pem");
    files.certificate_file = PathOf(name + ".pem");
    files.key_file = PathOf(name + ".key");
    const absl::StatusOr<std::unique_ptr<TlsContext>> context =
        TlsContext::Load(clock_, files);
    if (!context.ok()) {
      Problem("TLS: " + std::string(context.status().message()), "");
      return;
    }
    ++good_;
    const WallTime end = (*context)->not_after();
    first_end_ = std::min(first_end_, end);
    if (end - clock_.WallNow() > kSoon) return;
    findings_.push_back(
        {FindingLevel::kWarning,
         fmt::format("TLS: certificate '{}', or its CA, expires on {}",
                     files.certificate_file, DateText(end)),
         fmt::format("move {0}.pem and {0}.key away, and issue them again "
                     "with: capstan certs {1} --add",
                     name, directory_)});
  }

  void CheckTasks(const std::vector<TaskId>& tasks) {
    for (const TaskId& task : tasks) {
      const absl::StatusOr<TlsOptions> files = FindTlsFiles(directory_, task);
      if (files.ok()) continue;
      Problem(fmt::format("TLS: for {}, {}", task.ToString(),
                          std::string(files.status().message())),
              "");
    }
  }

  const std::string directory_;
  Clock& clock_;
  Findings findings_;
  int good_ = 0;
  WallTime first_end_ = WallTime::max();
};

}  // namespace

Findings CheckTls(const std::string& directory,
                  const std::vector<TaskId>& tasks, Clock& clock) {
  return Checker(directory, clock).Run(tasks);
}

}  // namespace capstan
