// What is wrong with this machine, or with a cluster as seen from it: the logic
// of `capstan doctor`.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "base/async/clock.h"
#include "capstan/resolver.h"
#include "launch/blas/blas_info.h"
#include "launch/doctor/finding.h"

namespace capstan {

struct DiagnoseOptions {
  // As --cluster; if empty, the cluster is resolved as tasks do.
  std::string cluster_file = {};
  // As --tls; if empty, CAPSTAN_TLS.
  std::string tls_directory = {};
  // As --token; if empty, CAPSTAN_TOKEN.
  std::string token_file = {};
  Environment environment = Environment::FromProcess();
  // Probes the BLAS of the machine (system_blas.h); skipped if empty.
  std::function<absl::StatusOr<BlasInfo>()> probe_blas = {};
  // Where `capstan run` would write.
  std::string folder = ".";
  // How long a task may take to answer one request.
  Duration timeout = std::chrono::seconds(2);
};

// Checks the machine always, and a cluster and a TLS directory if there are
// any. Never fails: an error becomes a finding. Blocks for seconds.
// Thread-safe.
Findings Diagnose(const DiagnoseOptions& options);

}  // namespace capstan
