# Headers that many files need and that take long to read, compiled once.
#
#   capstan_precompiled(TARGET)         what tests begin with
#   capstan_precompiled_torch(TARGET)   libtorch, half a minute each time
#
# Layers other than torch/ do without: `make lint` compiles each file by itself,
# with its own header first, and so finds an #include that is missing.
function(capstan_precompiled TARGET)
  if(TARGET capstan_precompiled_test)
    target_link_libraries(${TARGET} PRIVATE capstan_base_async)
    target_precompile_headers(${TARGET} REUSE_FROM capstan_precompiled_test)
  endif()
endfunction()

# GCC takes a precompiled header only where it would have compiled the same
# code, so programs are compiled as libraries are, too.
function(capstan_precompiled_torch TARGET)
  target_link_libraries(${TARGET} PRIVATE capstan_libtorch capstan_asio)
  if(TARGET capstan_precompiled_libtorch)
    set_target_properties(${TARGET} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${TARGET} PRIVATE -fPIC)
    target_precompile_headers(${TARGET} REUSE_FROM capstan_precompiled_libtorch)
  endif()
endfunction()

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()
endif()

# A file for the compiler to see the headers in.
set(stub ${PROJECT_BINARY_DIR}/precompiled/stub.cc)
if(NOT EXISTS ${stub})
  file(WRITE ${stub} "")
endif()

if(CAPSTAN_WITH_TORCH)
  add_library(capstan_precompiled_libtorch OBJECT EXCLUDE_FROM_ALL ${stub})
  target_link_libraries(capstan_precompiled_libtorch PRIVATE
    capstan_flags capstan_asio capstan_libtorch)
  target_precompile_headers(capstan_precompiled_libtorch PRIVATE
    <torch/nn.h> <torch/optim.h> <torch/types.h>)
  set_target_properties(capstan_precompiled_libtorch PROPERTIES
    POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(capstan_precompiled_libtorch PRIVATE -fPIC)
endif()

if(NOT CAPSTAN_BUILD_TESTS)
  return()
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
