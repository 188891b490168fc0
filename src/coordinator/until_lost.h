// For long operations on the servers that must end when a server is lost. Both
// functions block, on one of the caller's threads.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "base/async/cancellation.h"
#include "coordinator/coordinator_impl.h"

namespace capstan {

// Cancelled when a server is lost; may be null.
std::shared_ptr<Cancellation> UntilLost(
    const CoordinatorMaker::Impl& coordinator_impl);

// `status`, or the error of the lost server if that is what cancelled the
// operation.
absl::Status OrLost(const CoordinatorMaker::Impl& coordinator_impl,
                    const absl::Status& status);

}  // namespace capstan
