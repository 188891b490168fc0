#include "launch/security/make_certificates.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/file/posix_file_system.h"
#include "base/status.h"
#include "capstan/cluster_spec.h"
#include "cluster/task_id.h"
#include "launch/security/job_token.h"
#include "transport/tls/certificate_authority.h"

namespace capstan {
namespace {

constexpr char kCa[] = "ca";
constexpr char kAdmin[] = "admin";
constexpr char kToken[] = "token";
constexpr char kDefaultJob[] = "capstan";
constexpr int kCaDays = 3650;
// A peer's clock may be behind.
constexpr std::chrono::hours kBackdated{1};

// Which files to make, and for whom.
struct Wanted {
  std::string name;      // "worker-3"
  std::string identity;  // "worker/3"
};

std::vector<Wanted> ListWanted(const MakeCertificatesOptions& options) {
  std::vector<Wanted> wanted;
  for (const std::string_view role : kRoleNames) {
    wanted.push_back({std::string(role), std::string(role)});
  }
  wanted.push_back({kAdmin, kAdmin});
  const auto add = [&wanted](Role role, int count) {
    const std::string name(RoleName(role));
    for (int i = 0; i < count; ++i) {
      wanted.push_back(
          {absl::StrCat(name, "-", i), absl::StrCat(name, "/", i)});
    }
  };
  add(Role::kWorker, options.workers);
  add(Role::kPs, options.ps);
  return wanted;
}

absl::Status CheckOptions(const MakeCertificatesOptions& options) {
  if (options.days < 1 || options.days > MakeCertificatesOptions::kMaxDays) {
    return absl::InvalidArgumentError(absl::StrCat(
        "certificates for ", options.days, " days: give a number from 1 to ",
        MakeCertificatesOptions::kMaxDays));
  }
  for (const int count : {options.workers, options.ps}) {
    if (count < 0 || count > TaskId::kMaxIndex + 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "certificates for ", count, " tasks: give a number from 0 to ",
          TaskId::kMaxIndex + 1));
    }
  }
  if (options.job.has_value() && options.job->empty()) {
    return absl::InvalidArgumentError("the job's name is empty");
  }
  return absl::OkStatus();
}

// The directory, created if necessary.
absl::StatusOr<std::unique_ptr<PosixFileSystem>> OpenDirectory(
    const std::string& directory) {
  absl::StatusOr<std::unique_ptr<PosixFileSystem>> files =
      PosixFileSystem::Open(directory);
  if (!absl::IsNotFound(files.status())) return files;
  std::filesystem::path path =
      std::filesystem::path(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string parent = path.parent_path().string();
  const absl::StatusOr<std::unique_ptr<PosixFileSystem>> above =
      PosixFileSystem::Open(parent.empty() ? "." : parent);
  CAPSTAN_RETURN_IF_ERROR(above.status());
  CAPSTAN_RETURN_IF_ERROR((*above)->CreateDir(path.filename().string()));
  CAPSTAN_RETURN_IF_ERROR((*above)->SyncDir(""));
  return PosixFileSystem::Open(directory);
}

// One run of MakeCertificates.
class Maker {
 public:
  Maker(const MakeCertificatesOptions& options, WallTime now, FileSystem& files)
      : options_(options), now_(now), files_(files) {}

  absl::StatusOr<MadeCertificates> Run() {
    CAPSTAN_RETURN_IF_ERROR(CheckDirectory());
    const absl::StatusOr<std::vector<Wanted>> missing = ListMissing();
    CAPSTAN_RETURN_IF_ERROR(missing.status());
    const absl::StatusOr<bool> has_token = HasToken();
    CAPSTAN_RETURN_IF_ERROR(has_token.status());
    const absl::StatusOr<CertificateAuthority> authority = GetAuthority();
    CAPSTAN_RETURN_IF_ERROR(authority.status());
    for (const Wanted& wanted : *missing) {
      CAPSTAN_RETURN_IF_ERROR(Issue(*authority, wanted));
    }
    if (!*has_token) CAPSTAN_RETURN_IF_ERROR(MakeToken());
    CAPSTAN_RETURN_IF_ERROR(files_.SyncDir(""));
    return made_;
  }

 private:
  std::string PathOf(const std::string& file) const {
    return (std::filesystem::path(options_.directory) / file).string();
  }

  absl::Status CheckDirectory() const {
    const absl::StatusOr<FileInfo> info = files_.Stat("");
    CAPSTAN_RETURN_IF_ERROR(info.status());
    if ((info->mode & 0022) == 0) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "others can write into '", options_.directory,
        "', and so replace certificates; run: chmod 700 ", options_.directory));
  }

  // Whether both NAME.pem and NAME.key exist.
  absl::StatusOr<bool> HasBoth(const std::string& name) const {
    const absl::StatusOr<bool> certificate = files_.Exists(name + ".pem");
    CAPSTAN_RETURN_IF_ERROR(certificate.status());
    const absl::StatusOr<bool> key = files_.Exists(name + ".key");
    CAPSTAN_RETURN_IF_ERROR(key.status());
    if (!*certificate && !*key) return false;
    const std::string found = name + (*certificate ? ".pem" : ".key");
    if (!options_.add) return IsThere(found);
    if (*certificate && *key) return true;
    return absl::FailedPreconditionError(
        absl::StrCat("'", PathOf(found), "' is there without '",
                     PathOf(name + (*certificate ? ".key" : ".pem")),
                     "'; put that beside it, or remove it"));
  }

  absl::Status IsThere(const std::string& file) const {
    return absl::AlreadyExistsError(absl::StrCat(
        "'", PathOf(file),
        "' exists, and nothing is overwritten; give --add to issue more "
        "certificates from the CA there, or another directory"));
  }

  absl::StatusOr<bool> HasToken() const {
    const absl::StatusOr<bool> has = files_.Exists(kToken);
    CAPSTAN_RETURN_IF_ERROR(has.status());
    if (*has && !options_.add) return IsThere(kToken);
    return has;
  }

  absl::Status MakeToken() {
    const absl::StatusOr<JobToken> token = JobToken::Generate();
    CAPSTAN_RETURN_IF_ERROR(token.status());
    CAPSTAN_RETURN_IF_ERROR(token->WriteNew(PathOf(kToken)));
    made_.token = true;
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Wanted>> ListMissing() const {
    const absl::StatusOr<bool> has_ca = HasBoth(kCa);
    CAPSTAN_RETURN_IF_ERROR(has_ca.status());
    if (options_.add && !*has_ca) {
      return absl::NotFoundError(
          absl::StrCat("there is no CA in '", options_.directory,
                       "' to issue from; leave out --add to make one"));
    }
    std::vector<Wanted> missing;
    for (Wanted& wanted : ListWanted(options_)) {
      const absl::StatusOr<bool> has = HasBoth(wanted.name);
      CAPSTAN_RETURN_IF_ERROR(has.status());
      if (!*has) missing.push_back(std::move(wanted));
    }
    return missing;
  }

  absl::StatusOr<CertificateAuthority> GetAuthority() {
    return options_.add ? LoadAuthority() : CreateAuthority();
  }

  absl::StatusOr<CertificateAuthority> LoadAuthority() const {
    absl::StatusOr<CertificateAuthority> authority =
        CertificateAuthority::Load(PathOf("ca.pem"), PathOf("ca.key"), now_);
    CAPSTAN_RETURN_IF_ERROR(authority.status());
    if (options_.job.value_or(authority->job()) != authority->job()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the CA in '", options_.directory, "' is of job '", authority->job(),
          "', not '", *options_.job, "'; make one for each job"));
    }
    return authority;
  }

  absl::StatusOr<CertificateAuthority> CreateAuthority() {
    const int days = std::max(options_.days, kCaDays);
    absl::StatusOr<CertificateAuthority> authority =
        CertificateAuthority::Create({.name = "Capstan CA",
                                      .job = options_.job.value_or(kDefaultJob),
                                      .not_before = now_ - kBackdated,
                                      .not_after = After(days)});
    CAPSTAN_RETURN_IF_ERROR(authority.status());
    const absl::StatusOr<CertificateAndKey> pem = authority->ToPem();
    CAPSTAN_RETURN_IF_ERROR(pem.status());
    CAPSTAN_RETURN_IF_ERROR(WriteBoth(kCa, *pem));
    return authority;
  }

  absl::Status Issue(const CertificateAuthority& authority,
                     const Wanted& wanted) {
    const WallTime not_after =
        std::min(After(options_.days), authority.not_after());
    const absl::StatusOr<CertificateAndKey> issued =
        authority.Issue({.name = wanted.identity,
                         .job = authority.job(),
                         .not_before = now_ - kBackdated,
                         .not_after = not_after},
                        {.uris = {"capstan:" + wanted.identity}});
    CAPSTAN_RETURN_IF_ERROR(issued.status());
    made_.not_after = std::min(made_.not_after, not_after);
    return WriteBoth(wanted.name, *issued);
  }

  // Key first, so that whenever a task finds a certificate, its key exists.
  absl::Status WriteBoth(const std::string& name,
                         const CertificateAndKey& pem) {
    CAPSTAN_RETURN_IF_ERROR(Write(name + ".key", pem.key));
    CAPSTAN_RETURN_IF_ERROR(Write(name + ".pem", pem.certificate));
    made_.names.push_back(name);
    return absl::OkStatus();
  }

  absl::Status Write(const std::string& name, const std::string& text) {
    const absl::StatusOr<std::unique_ptr<WritableFile>> file =
        files_.CreateForWrite(name, IfExists::kFail);
    CAPSTAN_RETURN_IF_ERROR(file.status());
    CAPSTAN_RETURN_IF_ERROR((*file)->Append(AsBytes(text)));
    CAPSTAN_RETURN_IF_ERROR((*file)->Sync());
    return (*file)->Close();
  }

  WallTime After(int days) const { return now_ + std::chrono::days(days); }

  const MakeCertificatesOptions& options_;
  const WallTime now_;
  FileSystem& files_;
  MadeCertificates made_;
};

}  // namespace

absl::StatusOr<MadeCertificates> MakeCertificates(
    const MakeCertificatesOptions& options, const Clock& clock) {
  CAPSTAN_RETURN_IF_ERROR(CheckOptions(options));
  const absl::StatusOr<std::unique_ptr<PosixFileSystem>> files =
      OpenDirectory(options.directory);
  CAPSTAN_RETURN_IF_ERROR(files.status());
  return Maker(options, clock.WallNow(), **files).Run();
}

}  // namespace capstan
