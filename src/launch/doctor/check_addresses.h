// Whether the addresses in a cluster description can work: host names, and the
// ports of this machine.
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

// How addresses are looked at.
struct AddressSeams {
  HostLookup look_up = LookUpHost;
  std::function<bool(const std::string& number)> is_local = IsLocalNumber;
  std::function<absl::Status(const std::string& number, int port)> try_port =
      TryPort;
};

// Looks at the address of each task: that its host is known; that it is not
// loopback while others are not; and, if it is of this machine, that its port
// is free unless a task is `answering` there, be it with a refusal, and that
// `policy` allows it. Blocks while host names are looked up.
Findings CheckAddresses(const ClusterSpec& spec, const NetworkPolicy& policy,
                        const std::set<TaskId>& answering,
                        const AddressSeams& seams = {});

// The tasks whose addresses are of this machine. Hosts that are not known are
// not.
std::vector<TaskId> LocalTasks(const ClusterSpec& spec,
                               const AddressSeams& seams = {});

}  // namespace capstan
