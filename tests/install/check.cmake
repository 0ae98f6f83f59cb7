# Installs a build into a folder, moves it, and builds and runs a program that finds it there; then configures the same
# project with the sources. BUILD, SOURCES, SCRATCH, COMPILER.
function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE printed ERROR_VARIABLE printed)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${status}:\n${printed}")
  endif()
  set(printed "${printed}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/first)
file(RENAME ${SCRATCH}/first ${SCRATCH}/moved)

set(common -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Release)
must(${CMAKE_COMMAND} ${common} -S ${SOURCES}/tests/install/package -B ${SCRATCH}/with_package -DCMAKE_PREFIX_PATH=${SCRATCH}/moved)
must(${CMAKE_COMMAND} --build ${SCRATCH}/with_package)
must(${SCRATCH}/with_package/program)
if(NOT printed STREQUAL "42\n")
  message(FATAL_ERROR "the program printed\n${printed}")
endif()

foreach(program rankd braid-doctor)
  must(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${SCRATCH}/moved/bin/${program} --version)
endforeach()

must(${CMAKE_COMMAND} ${common} -S ${SOURCES}/tests/install/sources -B ${SCRATCH}/with_sources -DBRAID_SOURCES=${SOURCES})
file(REMOVE_RECURSE ${SCRATCH})
