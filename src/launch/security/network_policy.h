// Where a task may listen. An address that other machines can reach needs TLS,
// or the user's explicit consent to go without. Thread-safe if the lookup is.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace capstan {

struct NetworkPolicy {
  bool tls = false;               // --tls: both sides show certificates
  bool insecure_network = false;  // --insecure-network
};

// The addresses of a host, as numbers ("127.0.0.1", "::1"); at least one, or an
// error.
using HostLookup = std::function<absl::StatusOr<std::vector<std::string>>(
    const std::string& host)>;

// Asks the system (/etc/hosts, DNS); blocks meanwhile. Unavailable, naming the
// host, if the system does not know it.
absl::StatusOr<std::vector<std::string>> LookUpHost(const std::string& host);

// Whether only this machine can reach the address `number`: 127.0.0.0/8, ::1,
// or 127.0.0.0/8 inside ::ffff:0:0/96. False for any other text.
bool IsLoopback(std::string_view number);

// Whether a task may listen on `address`: "host:port", "[IPv6]:port",
// "unix:/path" or "inproc:name". Returns a warning to show, which is empty
// unless the address is open to others without TLS. FailedPrecondition, with
// what to do, if the task may not; InvalidArgument for an address of another
// form.
//
// A host name is looked up if the answer depends on it, and counts as loopback
// only if all its addresses do; then the errors of `look_up` also apply.
// Listening looks the name up again, so this check guards against mistakes, not
// against a hostile DNS server.
absl::StatusOr<std::string> CheckListen(std::string_view address,
                                        const NetworkPolicy& policy,
                                        const HostLookup& look_up = LookUpHost);

}  // namespace capstan
