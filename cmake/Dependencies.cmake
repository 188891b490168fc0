# Every library that Capstan uses, from Debian 12; tools/setup installs them.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(Protobuf REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(FastFloat REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
# Linked by their names: nothing of them but the library is needed.
pkg_check_modules(hwy REQUIRED libhwy)
pkg_check_modules(prometheus REQUIRED prometheus-cpp-core)

# Asio is header-only; compiled once in base/async/asio.cc, which halves the build.
add_library(capstan_asio INTERFACE)
set_target_properties(capstan_asio PROPERTIES EXPORT_NAME asio)
# Installed, it stands for the threads that Asio needs: a user's program may
# use an Asio of its own, in another way.
target_compile_definitions(capstan_asio INTERFACE
  $<BUILD_INTERFACE:ASIO_STANDALONE>
  $<BUILD_INTERFACE:ASIO_SEPARATE_COMPILATION>
  $<BUILD_INTERFACE:ASIO_NO_DEPRECATED>
  # Left alone, Asio chooses its allocator by whether a header of the standard
  # library came before it: other files free what one has allocated otherwise.
  $<BUILD_INTERFACE:ASIO_DISABLE_STD_ALIGNED_ALLOC>)
target_link_libraries(capstan_asio INTERFACE Threads::Threads)

if(CAPSTAN_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
