// Whether the addresses in a cluster description can work: host names, and the
// ports on this machine.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "capstan/cluster_spec.h"
#include "launch/doctor/finding.h"
#include "launch/security/local_address.h"
#include "launch/security/network_policy.h"

namespace capstan {

// How addresses are examined; tests replace these.
struct AddressSeams {
  HostLookup look_up = LookUpHost;
  std::function<bool(const std::string& number)> is_local = IsLocalNumber;
  std::function<absl::Status(const std::string& number, int port)> try_port =
      TryPort;
};

// Checks the address of each task: its host must be known, and must not be
// loopback while others are not. If the address is on this machine, `policy`
// must allow it, and its port must be free unless a task is `answering` there,
// even with a refusal. Blocks while host names are looked up.
Findings CheckAddresses(const ClusterSpec& spec, const NetworkPolicy& policy,
                        const std::set<TaskId>& answering,
                        const AddressSeams& seams = {});

// The tasks whose addresses are on this machine; unknown hosts are not.
std::vector<TaskId> LocalTasks(const ClusterSpec& spec,
                               const AddressSeams& seams = {});

}  // namespace capstan
