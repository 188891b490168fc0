#include "launch/doctor/check_addresses.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "transport/tcp/address.h"

namespace capstan {
namespace {

struct Place {
  TaskId task;
  std::string name;  // "ps/0 at node4:7077"
  std::string address;
  int port = 0;
  std::vector<std::string> numbers;  // empty: not a TCP address
  absl::Status looked_up;
};

Place LookUp(TaskId task, const std::string& address,
             const AddressSeams& seams) {
  Place place;
  place.task = task;
  place.address = address;
  place.name = fmt::format("{} at {}", task.ToString(), address);
  const absl::StatusOr<HostPort> parsed = ParseHostPort(address);
  if (IsUnixAddress(address) || !parsed.ok()) return place;
  place.port = std::stoi(parsed->port);
  absl::StatusOr<std::vector<std::string>> numbers =
      seams.look_up(parsed->host);
  if (numbers.ok()) {
    place.numbers = *std::move(numbers);
  } else {
    place.looked_up = numbers.status();
  }
  return place;
}

std::vector<Place> LookUpAll(const ClusterSpec& spec,
                             const AddressSeams& seams) {
  std::vector<Place> places;
  for (const TaskId& task : spec.tasks()) {
    places.push_back(LookUp(task, spec.task_address(task), seams));
  }
  return places;
}

bool IsLocal(const Place& place, const AddressSeams& seams) {
  if (IsUnixAddress(place.address)) return true;
  return std::any_of(place.numbers.begin(), place.numbers.end(),
                     seams.is_local);
}

bool IsLoopbackOnly(const Place& place) {
  return !place.numbers.empty() &&
         std::all_of(place.numbers.begin(), place.numbers.end(), IsLoopback);
}

// Typically a host that resolves its own name to 127.0.1.1, as Debian does.
std::optional<Finding> CheckLoopback(const Place& place, bool others_beyond) {
  if (!others_beyond || !IsLoopbackOnly(place)) return std::nullopt;
  return Finding{
      FindingLevel::kProblem,
      fmt::format("{}: is {} here, which no other machine can reach, and "
                  "other tasks are on other machines",
                  place.name, place.numbers.front()),
      "write an address that all of them can reach, or correct /etc/hosts"};
}

Finding CheckPort(const Place& place, const AddressSeams& seams) {
  for (const std::string& number : place.numbers) {
    if (!seams.is_local(number)) continue;
    const absl::Status status = seams.try_port(number, place.port);
    if (status.ok()) continue;
    if (absl::IsAlreadyExists(status)) {
      return {FindingLevel::kProblem,
              fmt::format("{}: the port is taken, and not by {} of this job",
                          place.name, place.task.ToString()),
              fmt::format("see who has it with: ss -ltnp 'sport = :{}', and "
                          "end that, or choose another port",
                          place.port)};
    }
    return {FindingLevel::kProblem,
            fmt::format("{}: cannot be listened on: {}", place.name,
                        std::string(status.message())),
            absl::IsPermissionDenied(status) ? "choose a port above 1023"
                                             : "choose another address"};
  }
  return {FindingLevel::kOk,
          fmt::format("{}: the port of this machine is free", place.name), ""};
}

std::optional<Finding> CheckPolicy(const Place& place,
                                   const NetworkPolicy& policy,
                                   const AddressSeams& seams) {
  const absl::StatusOr<std::string> warning =
      CheckListen(place.address, policy, seams.look_up);
  if (warning.ok() && warning->empty()) return std::nullopt;
  return Finding{
      FindingLevel::kWarning,
      fmt::format(
          "{}: {}", place.task.ToString(),
          warning.ok() ? *warning : std::string(warning.status().message())),
      ""};
}

}  // namespace

Findings CheckAddresses(const ClusterSpec& spec, const NetworkPolicy& policy,
                        const std::set<TaskId>& answering,
                        const AddressSeams& seams) {
  Findings findings;
  const std::vector<Place> places = LookUpAll(spec, seams);
  const bool beyond =
      std::any_of(places.begin(), places.end(), [](const Place& place) {
        return !place.numbers.empty() && !IsLoopbackOnly(place);
      });
  for (const Place& place : places) {
    if (!place.looked_up.ok()) {
      findings.push_back({FindingLevel::kProblem,
                          fmt::format("{}: {}", place.task.ToString(),
                                      std::string(place.looked_up.message())),
                          ""});
      continue;
    }
    if (auto found = CheckLoopback(place, beyond)) findings.push_back(*found);
    if (place.numbers.empty() || !IsLocal(place, seams)) continue;
    if (auto found = CheckPolicy(place, policy, seams)) {
      findings.push_back(*found);
    }
    if (!answering.contains(place.task)) {
      findings.push_back(CheckPort(place, seams));
    }
  }
  return findings;
}

std::vector<TaskId> LocalTasks(const ClusterSpec& spec,
                               const AddressSeams& seams) {
  std::vector<TaskId> tasks;
  for (const Place& place : LookUpAll(spec, seams)) {
    if (IsLocal(place, seams)) tasks.push_back(place.task);
  }
  return tasks;
}

}  // namespace capstan
