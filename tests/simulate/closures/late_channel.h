// The coordinator's channel to a worker on a network that delays: some requests
// arrive a second time after their session has ended.
#pragma once

#include <memory>
#include <string>

#include "simulate/closures/closure_context.h"
#include "wire/channel.h"

namespace capstan::simulate {

// `context` and `node` must outlive it.
std::unique_ptr<Channel> NewLateChannel(std::unique_ptr<Channel> inner,
                                        ClosureContext& context, SimNode& node,
                                        const std::string& task);

}  // namespace capstan::simulate
