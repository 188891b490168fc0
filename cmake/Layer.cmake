# capstan_layer(NAME [SOURCES ...] [DEPENDS layer ...] [LIBRARIES lib ...]
#               [TESTS file ...] [TEST_LIBRARIES lib ...] [TORCH])
#
# One folder under src/ is one static library, capstan_NAME, that links only to
# the layers in DEPENDS, and one test program, NAME_test. With tests on, the
# program NAME_link_test links the whole archive against just those layers: an
# undeclared call upwards is a link error. TORCH: libtorch's headers are
# precompiled.
function(capstan_layer NAME)
  cmake_parse_arguments(LAYER "TORCH" ""
    "SOURCES;DEPENDS;LIBRARIES;TESTS;TEST_LIBRARIES" ${ARGN})
  set(target capstan_${NAME})
  add_library(${target} STATIC ${LAYER_SOURCES})
  add_library(capstan::${NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${NAME})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  list(TRANSFORM LAYER_DEPENDS PREPEND capstan_ OUTPUT_VARIABLE layers)
  # Public headers need the standard library alone. So, once installed, the
  # other libraries are linked but their flags and includes do not leak.
  set(installed ${LAYER_LIBRARIES})
  list(TRANSFORM installed REPLACE "(.+)"
    "$<INSTALL_INTERFACE:$<LINK_ONLY:\\1>>")
  target_link_libraries(${target}
    PUBLIC ${layers} "$<BUILD_INTERFACE:${LAYER_LIBRARIES}>" ${installed}
    PRIVATE $<BUILD_INTERFACE:capstan_flags>)
  set_property(GLOBAL APPEND PROPERTY CAPSTAN_LAYERS ${target})
  set(torch)
  if(LAYER_TORCH)
    capstan_precompiled_torch(${target})
    set(torch TORCH)
  endif()

  if(CAPSTAN_BUILD_TESTS)
    set(stub ${PROJECT_BINARY_DIR}/link_test/${NAME}.cc)
    if(NOT EXISTS ${stub})
      file(WRITE ${stub} "int main() {}\n")
    endif()
    add_executable(${NAME}_link_test ${stub})
    target_link_libraries(${NAME}_link_test PRIVATE capstan_flags
      -Wl,--whole-archive $<TARGET_FILE:${target}> -Wl,--no-whole-archive
      ${layers} ${LAYER_LIBRARIES})
    add_dependencies(${NAME}_link_test ${target})
    if(LAYER_TESTS)
      capstan_test(${NAME}_test SOURCES ${LAYER_TESTS}
        LIBRARIES ${target} ${LAYER_TEST_LIBRARIES} ${torch})
    endif()
  endif()
endfunction()

# capstan_test(NAME SOURCES file ... LIBRARIES lib ... [TORCH]): a GoogleTest
# program, each of whose cases is a test of its own for ctest.
function(capstan_test NAME)
  cmake_parse_arguments(TEST "TORCH" "TIMEOUT" "SOURCES;LIBRARIES" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  add_executable(${NAME} ${TEST_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${TEST_LIBRARIES} capstan_flags
    GTest::gmock GTest::gtest_main)
  if(TEST_TORCH)
    capstan_precompiled_torch(${NAME})
  else()
    # What is tested is built as it ships; optimising the tests themselves any
    # further costs a fifth of their long compile time and gains nothing.
    target_compile_options(${NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
    capstan_precompiled(${NAME})
  endif()
  # Without the values of parameters, which may be addresses.
  gtest_discover_tests(${NAME} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES
    PROPERTIES TIMEOUT ${TEST_TIMEOUT})
endfunction()
if(CAPSTAN_BUILD_TESTS)
  include(GoogleTest)
endif()
