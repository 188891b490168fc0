// Starting the threads of a pipeline.
#pragma once

#include <functional>
#include <thread>

namespace capstan {

// Throws kResourceExhausted if the system has no more threads.
std::jthread StartThread(std::function<void()> run);

}  // namespace capstan
