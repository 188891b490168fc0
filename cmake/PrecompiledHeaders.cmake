# capstan_precompiled(TARGET): a test program's first headers, compiled once for
# all of them: they take a third of the time that a test takes to compile.
#
# Not for the layers: each of their files includes its own header first, which
# shows that it needs nothing before it. And not with clang: `make lint` sees
# each file as it is written, and so finds an #include that is missing.
function(capstan_precompiled TARGET)
  if(TARGET capstan_precompiled_test)
    target_precompile_headers(${TARGET} REUSE_FROM capstan_precompiled_test)
  endif()
endfunction()

if(NOT CAPSTAN_BUILD_TESTS OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()
endif()
set(stub ${PROJECT_BINARY_DIR}/precompiled/test.cc)
if(NOT EXISTS ${stub})
  file(WRITE ${stub} "")
endif()
add_library(capstan_precompiled_test OBJECT EXCLUDE_FROM_ALL ${stub})
target_link_libraries(capstan_precompiled_test PRIVATE capstan_flags
  capstan_asio absl::status absl::statusor absl::strings fmt::fmt
  spdlog::spdlog GTest::gmock)
target_precompile_headers(capstan_precompiled_test PRIVATE
  <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <deque>
  <filesystem> <functional> <limits> <map> <memory> <mutex> <optional> <set>
  <span> <string> <string_view> <thread> <utility> <variant> <vector>
  <asio/any_io_executor.hpp> <asio/awaitable.hpp> <asio/co_spawn.hpp>
  <asio/io_context.hpp> <asio/post.hpp> <asio/this_coro.hpp>
  <asio/use_awaitable.hpp> <fmt/format.h> <absl/status/status.h>
  <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_join.h>
  <fstream> <future> <gmock/gmock.h> <gtest/gtest.h>)
# As tests are compiled: see capstan_test, and -fPIE, as they are programs.
set_target_properties(capstan_precompiled_test PROPERTIES
  POSITION_INDEPENDENT_CODE OFF)
target_compile_options(capstan_precompiled_test PRIVATE
  -fPIE $<$<CONFIG:Release>:-O1>)
