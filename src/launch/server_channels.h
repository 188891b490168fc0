// How a task reaches the parameter servers of its job.
#pragma once

#include <memory>

#include "client/parameter_client.h"
#include "launch/task_host.h"

namespace capstan {

// A client of all servers of the host's cluster. Call it on the host's
// executor, where the client lives. The host must outlive the client.
std::unique_ptr<ParameterClient> NewParameterClient(TaskHost& host);

}  // namespace capstan
