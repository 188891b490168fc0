# Installs the build into a fresh prefix, and builds and runs the project in
# examples/cmake_project against nothing but what is installed there.
set(work ${BINARY_DIR}/package_test)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BINARY_DIR} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE_DIR}/examples/cmake_project
    -B ${work}/build
    -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_PREFIX_PATH=${work}/prefix)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/hello)
message("${output}")

# What `capstan new` writes builds and runs too, alone and as a cluster.
run(${work}/prefix/bin/capstan new ${work}/starter)
run(${CMAKE_COMMAND} -G Ninja -S ${work}/starter -B ${work}/starter/build
    -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_PREFIX_PATH=${work}/prefix)
run(${CMAKE_COMMAND} --build ${work}/starter/build)
foreach(command "" "${work}/prefix/bin/capstan;run;--")
  run(${CMAKE_COMMAND} -E chdir ${work}/starter ${command} build/starter)
  if(NOT output MATCHES "y = 3.00 x \\+ 1.00")
    message(FATAL_ERROR "${output}")
  endif()
endforeach()

# The package must work without this source tree, and after being moved.
file(GLOB_RECURSE files ${work}/prefix/*.cmake)
foreach(file IN LISTS files)
  file(READ ${file} text)
  foreach(path ${SOURCE_DIR} ${work})
    string(FIND "${text}" "${path}" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} refers to ${path}")
    endif()
  endforeach()
endforeach()
