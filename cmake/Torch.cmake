# capstan_libtorch: Debian's libtorch, or the one under CMAKE_PREFIX_PATH, such
# as the folder `torch` of PyPI's package. Not find_package(Torch), which sets
# flags for all that comes after it.
#
# CAPSTAN_WITH_TORCH says whether there is one to be used. Not with sanitizers,
# as libtorch is not instrumented and slow to compile; nor with clang, as in
# C++20 clang 14 refuses its headers (a vector of the incomplete c10::IValue).
set(CAPSTAN_WITH_TORCH OFF)
if(NOT CAPSTAN_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_path(LIBTORCH_INCLUDE_DIR torch/csrc/api/include/torch/optim.h REQUIRED)
  find_library(LIBTORCH_CPU_LIBRARY torch_cpu REQUIRED)
  find_library(LIBTORCH_C10_LIBRARY c10 REQUIRED)
  set(CAPSTAN_WITH_TORCH ON)
  add_library(capstan_libtorch INTERFACE)
  # Installed, it is whichever the user has: see capstanConfig.cmake.in.
  set_target_properties(capstan_libtorch PROPERTIES EXPORT_NAME libtorch)
  target_include_directories(capstan_libtorch SYSTEM INTERFACE
    $<BUILD_INTERFACE:${LIBTORCH_INCLUDE_DIR}>
    $<BUILD_INTERFACE:${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include>)
  target_link_libraries(capstan_libtorch INTERFACE
    $<BUILD_INTERFACE:${LIBTORCH_CPU_LIBRARY}>
    $<BUILD_INTERFACE:${LIBTORCH_C10_LIBRARY}>)
  # PyPI's has headers of protobuf and fmt in its folder, without the libraries:
  # those of Debian are to be found, by Dependencies.cmake.
  get_filename_component(libtorch_prefix ${LIBTORCH_INCLUDE_DIR} DIRECTORY)
  file(GLOB libtorch_protobuf ${libtorch_prefix}/lib/libprotobuf*)
  if(EXISTS ${libtorch_prefix}/include/google/protobuf
     AND EXISTS ${libtorch_prefix}/lib/libtorch_cpu.so
     AND NOT libtorch_protobuf)
    list(APPEND CMAKE_IGNORE_PREFIX_PATH ${libtorch_prefix})
  endif()
endif()
