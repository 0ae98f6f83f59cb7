# Installs a build into a folder, moves it, and builds and runs a program that finds it there: by the compiler of the
# library and by that of the other family; without the library that calls OpenSSL, too, where there is one; and by what
# pkg-config says. Then configures the same project with the sources. BUILD, SOURCES, SCRATCH,
# COMPILER, SHARED.
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
set(program ${SCRATCH}/with_package/program)
function(must_print expected)
  must(${CMAKE_COMMAND} -E env ${ARGN} ${program} WORKING_DIRECTORY ${SCRATCH}/moved)
  if(NOT printed STREQUAL expected)
    message(FATAL_ERROR "the program printed\n${printed}")
  endif()
endfunction()
must_print("42\nTLS\n" --unset=LD_LIBRARY_PATH)
if(SHARED)
  file(GLOB_RECURSE tls_library ${SCRATCH}/moved/*/libbraid_tls*)
  get_filename_component(folder ${tls_library} DIRECTORY)
  file(RELATIVE_PATH folder ${SCRATCH}/moved ${folder})
  must_print("42\nTLS\n" LD_LIBRARY_PATH=${folder})  # which leads elsewhere from the folder that the program changes to
  file(RENAME ${tls_library} ${SCRATCH}/elsewhere)
  must_print("42\nCan not access a needed shared library\n" --unset=LD_LIBRARY_PATH)
  file(RENAME ${SCRATCH}/elsewhere ${tls_library})
endif()

foreach(program rankd braid-doctor braid-sim)
  must(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${SCRATCH}/moved/bin/${program} --version)
  file(STRINGS ${SCRATCH}/moved/share/man/man1/${program}.1 page LIMIT_COUNT 1)
  string(TOUPPER ${program} title)
  string(REPLACE "-" "\\-" title ${title})
  string(FIND "${page}" ".TH \"${title}\" 1 " at)
  if(NOT at EQUAL 0)
    message(FATAL_ERROR "the manual page of ${program} begins with\n${page}")
  endif()
endforeach()

must(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${SCRATCH}/moved/bin/braid-sim run --twice -- /bin/true)
must(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${SCRATCH}/with_package/world correct)

# A program of the other compiler runs with the library as well: coroutines of both give control to each other.
if(COMPILER MATCHES "clang")
  find_program(other NAMES g++-12 g++)
else()
  find_program(other NAMES clang++-22 clang++-19 clang++)
endif()
if(other)
  must(${CMAKE_COMMAND} ${common} -DCMAKE_CXX_COMPILER=${other} -S ${SOURCES}/tests/install/package
       -B ${SCRATCH}/other_compiler -DCMAKE_PREFIX_PATH=${SCRATCH}/moved)
  must(${CMAKE_COMMAND} --build ${SCRATCH}/other_compiler)
  set(program ${SCRATCH}/other_compiler/program)
  must_print("42\nTLS\n" --unset=LD_LIBRARY_PATH)
endif()

# A library of operators, built with nothing but what is installed, ranks.
set(rankd ${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${SCRATCH}/moved/bin/rankd)
file(COPY ${SCRATCH}/moved/share/rankd/examples/places DESTINATION ${SCRATCH})
must(${CMAKE_COMMAND} ${common} -S ${SCRATCH}/places/operators -B ${SCRATCH}/operators -DCMAKE_PREFIX_PATH=${SCRATCH}/moved)
must(${CMAKE_COMMAND} --build ${SCRATCH}/operators)
file(COPY ${SCRATCH}/operators/libgeo.so DESTINATION ${SCRATCH}/places/operators)
must(${rankd} validate --project ${SCRATCH}/places)
must(${rankd} rank --project ${SCRATCH}/places --request ${SCRATCH}/places/request.json)
if(NOT printed MATCHES "\"id\":5,.*\"id\":3,.*\"id\":1,")
  message(FATAL_ERROR "operators of a library ranked\n${printed}")
endif()

# The compiler of plans is there where Node was: it makes of a new project's plan what rankd wrote beside it.
if(EXISTS ${SCRATCH}/moved/bin/dslc)
  must(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH ${SCRATCH}/moved/bin/rankd init empty ${SCRATCH}/project)
  must(${SCRATCH}/moved/bin/dslc build --verify --time-limit-ms 60000 --project ${SCRATCH}/project)
endif()

# A compiler that is started by hand asks pkg-config. Without the program there is one sentence less to check.
find_program(pkg_config NAMES pkg-config pkgconf)
if(pkg_config)
  file(GLOB_RECURSE described ${SCRATCH}/moved/*/braid.pc)
  get_filename_component(folder ${described} DIRECTORY)
  must(${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${folder} ${pkg_config} --cflags --libs braid)
  if(printed MATCHES "-std=")
    message(FATAL_ERROR "pkg-config chooses the standard of the program: ${printed}")
  endif()
  separate_arguments(flags UNIX_COMMAND "-std=c++23 ${printed}")
  # Headers that are found so are none of the system's: a warning in them is one of the program.
  if(other)
    must(${other} -include braid/braid.hpp -Wall -Wextra -Wshadow -Wno-unused-command-line-argument -Werror -fsyntax-only
         ${SOURCES}/tests/install/program.cpp ${flags})
  endif()
  must(${COMPILER} ${SOURCES}/tests/install/program.cpp ${flags} -o ${SCRATCH}/by_hand)
  get_filename_component(folder ${folder} DIRECTORY)
  must(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${folder} ${SCRATCH}/by_hand)
  if(NOT printed STREQUAL "42\nTLS\n")
    message(FATAL_ERROR "the program that pkg-config had compiled printed\n${printed}")
  endif()
endif()

must(${CMAKE_COMMAND} ${common} -S ${SOURCES}/tests/install/sources -B ${SCRATCH}/with_sources -DBRAID_SOURCES=${SOURCES})
file(REMOVE_RECURSE ${SCRATCH})
