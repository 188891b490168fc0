# Tests of the repository itself: the layers and the package.
# They ask nothing of the sanitizers, which would only slow them down.
if(CAPSTAN_SANITIZE)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

add_test(NAME layers
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_layers.py)

add_test(NAME check_layers_test
  COMMAND ${Python3_EXECUTABLE}
          ${PROJECT_SOURCE_DIR}/tools/check_layers_test.py)

add_test(NAME package_test
  COMMAND ${CMAKE_COMMAND}
          -D SOURCE_DIR=${PROJECT_SOURCE_DIR}
          -D BINARY_DIR=${PROJECT_BINARY_DIR}
          -D BUILD_TYPE=${CMAKE_BUILD_TYPE}
          -D COMPILER=${CMAKE_CXX_COMPILER}
          -P ${PROJECT_SOURCE_DIR}/cmake/package_test.cmake)
