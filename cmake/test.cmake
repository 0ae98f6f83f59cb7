include(test_unity)
set(BRAID_UNITY_BYTES 150000)  # of sources in one translation unit: a fifth less time than 60 000

foreach(kind test model stress fuzz)
  add_custom_target(braid_tests_of_${kind})
endforeach()

# Folders whose tests have no threads: neither timing nor the number of CPUs changes their results.
set(BRAID_FOLDERS_WITHOUT_THREADS base fuzz install refused texts tools
    rankd/expr rankd/op rankd/plan rankd/registry rankd/rows rankd/tables)
# Folders whose tests use the workers of a pool.
set(BRAID_FOLDERS_WITH_WORKERS coro examples graph io net rankd/engine rankd/server runtime task)

# braid_finish_tests(): to be called at the end of each directory that defines tests.
#
# Adds labels to the label of a test's kind. `threads`: the test has threads or processes whose timing can vary, so that
# the gate runs it on one CPU as well, and tools/run_tests may rerun it. `workers`: the test uses the workers of a pool.
# The explorer controls all timing in a model test, which therefore has neither label.
function(braid_finish_tests)
  list(JOIN BRAID_FOLDERS_WITHOUT_THREADS "|" without_threads)
  list(JOIN BRAID_FOLDERS_WITH_WORKERS "|" with_workers)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    get_test_property(${test} LABELS labels)
    if("model" IN_LIST labels OR test MATCHES "^(${without_threads})/")
      continue()
    endif()
    set_property(TEST ${test} APPEND PROPERTY LABELS threads)
    if(test MATCHES "^(${with_workers})/")
      set_property(TEST ${test} APPEND PROPERTY LABELS workers)
    endif()
  endforeach()
  braid_emulate_tests()
endfunction()

# braid_tests(folder [LINKS library …] [DEFINES definition …] [DEPENDS target …] [ALONE stem …])
#
# Every tests/<folder>/*_test.cpp, *_model.cpp and *_stress.cpp becomes one CTest entry <folder>/<file>, labelled by its
# suffix. The files of one kind are one program, <folder>/all_<kind>, of which an entry runs one file's cases. A file that
# replaces operators of its process (braid_needs_a_program), or is named ALONE, is a program <folder>/<file> instead;
# without BRAID_UNITY every file is. A run without a single test case fails (tests/support/main.cpp). Only the model build
# has *_model.cpp, and it has no *_stress.cpp: its atomics are slower than those that ship.
function(braid_tests folder)
  cmake_parse_arguments(TESTS "" "" "LINKS;DEFINES;DEPENDS;ALONE" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  string(REPLACE "/" "_" prefix ${folder})
  set(common LINKS ${TESTS_LINKS} DEFINES ${TESTS_DEFINES} DEPENDS ${TESTS_DEPENDS})
  foreach(kind test model stress)
    set(together "")
    foreach(file IN LISTS files)
      cmake_path(GET file STEM stem)
      string(REGEX MATCH "_(test|model|stress)$" suffix ${stem})
      if(NOT suffix)
        message(FATAL_ERROR "${file}: a test file ends in _test, _model or _stress")
      endif()
      if(NOT suffix STREQUAL "_${kind}" OR (kind STREQUAL "model" AND NOT BRAID_MODEL)
         OR (kind STREQUAL "stress" AND BRAID_MODEL))
        continue()
      endif()
      braid_is_left_out(${folder}/${stem} left_out)
      if(left_out)
        continue()
      endif()
      braid_needs_a_program(${file} needs)
      if(needs OR stem IN_LIST TESTS_ALONE OR NOT BRAID_UNITY)
        braid_test_program(test_${prefix}_${stem} ${folder} ${stem} FILES ${file} ${common} KIND ${kind})
      else()
        list(APPEND together ${file})
      endif()
    endforeach()
    braid_test_program(test_${prefix}_all_${kind} ${folder} all_${kind} FILES ${together} ${common} KIND ${kind})
  endforeach()
endfunction()

# braid_test_program(target folder name FILES file … LINKS library … DEFINES definition … DEPENDS target … KIND kind)
#
# One program of test files, and an entry of CTest for each file.
function(braid_test_program target folder name)
  cmake_parse_arguments(PROGRAM "" "KIND" "FILES;LINKS;DEFINES;DEPENDS" ${ARGN})
  if(NOT PROGRAM_FILES)
    return()
  endif()
  braid_unity(${target} sources FILES ${PROGRAM_FILES})
  add_executable(${target} ${sources})
  target_compile_definitions(${target} PRIVATE ${PROGRAM_DEFINES})
  if(PROGRAM_DEPENDS)
    add_dependencies(${target} ${PROGRAM_DEPENDS})
  endif()
  target_link_libraries(${target} PRIVATE ${PROGRAM_LINKS} braid_warnings braid_test_support)
  if(NOT PROGRAM_KIND STREQUAL "stress")
    target_compile_options(${target} PRIVATE ${BRAID_TEST_OPTIONS})
  endif()
  braid_precompile_test(${target} "${PROGRAM_LINKS}" ${PROGRAM_KIND})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${folder}
                                             OUTPUT_NAME ${name})
  add_dependencies(braid_tests_of_${PROGRAM_KIND} ${target})
  list(LENGTH PROGRAM_FILES count)
  foreach(file IN LISTS PROGRAM_FILES)
    cmake_path(GET file STEM stem)
    set(command ${target})
    if(count GREATER 1)
      list(APPEND command "--source-file=*/${folder}/${stem}.cpp")
    endif()
    braid_left_out_options(${folder}/${stem} left_out)
    list(APPEND command ${left_out})
    add_test(NAME ${folder}/${stem} COMMAND ${command} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${folder}/${stem} PROPERTIES LABELS ${PROGRAM_KIND} TIMEOUT 600)
    if(PROGRAM_KIND STREQUAL "stress")  # what is long begins first, so that none is left alone at the end
      set_tests_properties(${folder}/${stem} PROPERTIES COST 10)
    endif()
    if(PROGRAM_KIND STREQUAL "model")  # which compute all the time: up to 150 s alone on a slow machine
      set_tests_properties(${folder}/${stem} PROPERTIES TIMEOUT 900)
    endif()
    set_property(GLOBAL PROPERTY BRAID_TEST_COMMAND_${folder}/${stem} "${command}")
  endforeach()
endfunction()

# braid_precompile_test(target links kind): the headers of tests of braid, or of rankd where it links a layer of that.
# Stresses, which are optimised, have their own where tests are not.
function(braid_precompile_test target links kind)
  set(owner braid)
  if(links MATCHES "rankd")
    set(owner rankd)
  endif()
  if(BRAID_TEST_OPTIONS AND kind STREQUAL "stress")
    target_precompile_headers(${target} REUSE_FROM ${owner}_stress_headers)
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner}_test_headers)
  endif()
endfunction()

# braid_needs_a_program(file OUT): whether a test file replaces what its whole process uses.
function(braid_needs_a_program file out)
  file(STRINGS ${file} odd REGEX "operator (new|delete)|scarce_memory|BRAID_TEST_PLUGIN|BRAID_URING")
  if(odd)
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# braid_test_environments(folder VARIABLE VALUES value … TESTS stem …)
#
# Runs tests of braid_tests(folder) once more for each value of a variable of the environment: <folder>/<stem>.<value>.
# Under the address sanitizer and by g++ stresses run once: the other builds show their races by each scheduler and
# backend. In builds other than the release by clang only the layer io runs by each backend, because the layers above it
# contain no code that depends on the backend.
function(braid_test_environments folder variable)
  cmake_parse_arguments(RUNS "" "" "VALUES;TESTS" ${ARGN})
  foreach(stem IN LISTS RUNS_TESTS)
    get_property(command GLOBAL PROPERTY BRAID_TEST_COMMAND_${folder}/${stem})
    if(NOT command)
      continue()
    endif()
    get_test_property(${folder}/${stem} LABELS label)
    if(label STREQUAL "stress" AND (BRAID_SANITIZE MATCHES "address" OR CMAKE_CXX_COMPILER_ID STREQUAL "GNU"))
      continue()
    endif()
    if((BRAID_SANITIZE MATCHES "address|thread" OR CMAKE_CXX_COMPILER_ID STREQUAL "GNU") AND variable STREQUAL "BRAID_IO"
       AND NOT folder STREQUAL "io")
      continue()
    endif()
    foreach(value IN LISTS RUNS_VALUES)
      add_test(NAME ${folder}/${stem}.${value} COMMAND ${command} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(${folder}/${stem}.${value} PROPERTIES LABELS ${label} TIMEOUT 600 ENVIRONMENT ${variable}=${value})
    endforeach()
  endforeach()
endfunction()

# braid_test_refused(folder TESTS stem …)
#
# Runs tests of braid_tests(folder) once more where the system refuses io_uring: <folder>/<stem>.refused. That loops wait
# by epoll there is checked before the program begins.
function(braid_test_refused folder)
  cmake_parse_arguments(RUNS "" "" "TESTS" ${ARGN})
  foreach(stem IN LISTS RUNS_TESTS)
    get_property(command GLOBAL PROPERTY BRAID_TEST_COMMAND_${folder}/${stem})
    if(NOT command)
      continue()
    endif()
    get_test_property(${folder}/${stem} LABELS label)
    list(POP_FRONT command program)
    add_test(NAME ${folder}/${stem}.refused COMMAND braid_without_io_uring $<TARGET_FILE:${program}> ${command}
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${folder}/${stem}.refused PROPERTIES LABELS ${label} TIMEOUT 600)
  endforeach()
endfunction()

# braid_fuzz_target(name [LINKS library …])
#
# tests/fuzz/<name>_fuzz.cpp. Everywhere it becomes a program that runs the corpus tests/fuzz/corpus/<name> and a fixed
# number of mutations of it: the CTest entry fuzz/<name>. With BRAID_FUZZ it is linked with libFuzzer instead, and
# tools/fuzz runs it.
function(braid_fuzz_target name)
  cmake_parse_arguments(FUZZ "" "" "LINKS" ${ARGN})
  set(target fuzz_${name})
  set(folder ${PROJECT_SOURCE_DIR}/tests/fuzz)
  add_executable(${target} ${folder}/${name}_fuzz.cpp ${folder}/mutate.cpp)
  target_link_libraries(${target} PRIVATE ${FUZZ_LINKS} braid_warnings braid_test_support)
  if(FUZZ_LINKS MATCHES "rankd")
    target_precompile_headers(${target} REUSE_FROM rankd_fuzz_headers)
  endif()
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fuzz)
  if(BRAID_FUZZ)
    target_sources(${target} PRIVATE ${folder}/libfuzzer.cpp)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_sources(${target} PRIVATE ${folder}/driver.cpp)
  set(runs 20000)
  if(BRAID_SANITIZE MATCHES "address")  # ten times slower, and tools/fuzz looks for new inputs under it
    set(runs 5000)
  endif()
  add_test(NAME fuzz/${name} COMMAND ${target} --runs ${runs} ${folder}/corpus/${name}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 600 COST 20)
  add_dependencies(braid_tests_of_fuzz ${target})
endfunction()
