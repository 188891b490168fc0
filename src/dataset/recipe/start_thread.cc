#include "dataset/recipe/start_thread.h"

#include <string>
#include <system_error>
#include <utility>

#include "capstan/error.h"

namespace capstan {

std::jthread StartThread(std::function<void()> run) {
  try {
    return std::jthread(std::move(run));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::kResourceExhausted,
                std::string("a thread of the input pipeline: ") + error.what());
  }
}

}  // namespace capstan
