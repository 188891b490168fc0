# Tests of the repository itself: the layers, its tools and the package.
# They ask nothing of the sanitizers, which would only slow them down.
if(CAPSTAN_SANITIZE)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

add_test(NAME layers
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/check_layers.py)

foreach(name affected_tests_test build_report_test changed_files_test
        check_layers_test)
  add_test(NAME ${name}
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/${name}.py)
endforeach()

add_test(NAME package_test
  COMMAND ${CMAKE_COMMAND}
          -D SOURCE_DIR=${PROJECT_SOURCE_DIR}
          -D BINARY_DIR=${PROJECT_BINARY_DIR}
          -D BUILD_TYPE=${CMAKE_BUILD_TYPE}
          -D COMPILER=${CMAKE_CXX_COMPILER}
          -P ${PROJECT_SOURCE_DIR}/cmake/package_test.cmake)
