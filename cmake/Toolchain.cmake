# Compiler flags for every target: standard, warnings, hardening, sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -g1 keeps stack traces readable at a tenth of the size of -g.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
if(CAPSTAN_SANITIZE)
  # More than that takes long to compile, and hides calls in stack traces.
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1 -DNDEBUG")
endif()
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

find_program(CAPSTAN_CCACHE ccache)
if(CAPSTAN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without the directory in the hash, and with paths relative to it, several
  # build folders and clones share results.
  # Precompiled headers need the rest.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CAPSTAN_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()

add_library(capstan_flags INTERFACE)
target_compile_options(capstan_flags INTERFACE
  -Wall -Wextra -Wconversion -Wformat=2 -Wshadow -Wnon-virtual-dtor -Werror
  -fstack-protector-strong -fstack-clash-protection -fno-omit-frame-pointer)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(capstan_flags INTERFACE -fcf-protection=full)
endif()
target_compile_definitions(capstan_flags INTERFACE _GLIBCXX_ASSERTIONS)
target_link_options(capstan_flags INTERFACE
  -Wl,-z,relro,-z,now -Wl,-z,noexecstack)
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -pie")
find_program(CAPSTAN_MOLD mold)
if(CAPSTAN_MOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A change in a low layer links all programs again, for which GNU ld takes 8
  # to 14 s longer.
  set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -fuse-ld=mold")
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports false positives in inlined standard-library and coroutine
  # code under -O2; these are checked by clang in `make lint` instead.
  target_compile_options(capstan_flags INTERFACE
    -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-restrict
    -Wno-mismatched-new-delete)
  if(CMAKE_UNITY_BUILD)
    # The frame of a coroutine that holds a type of an anonymous namespace: each
    # file is still in one unit only.
    target_compile_options(capstan_flags INTERFACE -Wno-subobject-linkage)
  endif()
  if(CAPSTAN_SANITIZE)
    # More of the same kind with the sanitizers' code between; and Asio's
    # fences, which TSan does not understand, are not what its locks rest on.
    target_compile_options(capstan_flags INTERFACE
      -Wno-uninitialized -Wno-array-bounds -Wno-tsan)
  else()
    target_compile_options(capstan_flags INTERFACE
      -ftrivial-auto-var-init=zero)
  endif()
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # clang 14 has coroutines but does not announce them to libstdc++ and Asio.
  target_compile_definitions(capstan_flags INTERFACE
    ASIO_HAS_CO_AWAIT=1 ASIO_HAS_STD_COROUTINE=1)
  # Its -Wconversion counts signs, unlike GCC's.
  target_compile_options(capstan_flags INTERFACE
    -Wno-builtin-macro-redefined -D__cpp_impl_coroutine=201902L
    -Wthread-safety -Wno-sign-conversion)
endif()

if(CAPSTAN_SANITIZE)
  target_compile_options(capstan_flags INTERFACE
    -fsanitize=${CAPSTAN_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(capstan_flags INTERFACE
    -fsanitize=${CAPSTAN_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # clang 14 cannot compile coroutines with it ("Cannot represent a
    # difference across sections").
    target_compile_options(capstan_flags INTERFACE -fno-sanitize=function)
  endif()
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  # Fortify needs optimisation, and hides what the sanitizers look for.
  target_compile_definitions(capstan_flags INTERFACE _FORTIFY_SOURCE=3)
endif()
