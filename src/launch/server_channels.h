// How a task reaches the parameter servers of its job.
#pragma once

#include <memory>

#include "client/parameter_client.h"
#include "launch/task_host.h"

namespace capstan {

// On the host's executor, where the client lives: a client of all servers of
// the host's cluster. The host must outlive it.
std::unique_ptr<ParameterClient> NewParameterClient(TaskHost& host);

}  // namespace capstan
