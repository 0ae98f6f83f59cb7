# braid_tests(folder [LINKS library …])
#
# Every tests/<folder>/*_test.cpp, *_model.cpp and *_stress.cpp becomes one program and one CTest entry
# <folder>/<file>, labelled by its suffix. A program without a single test case fails (tests/support/main.cpp).
# Only the model build has *_model.cpp, and it has no *_stress.cpp: its atomics are slower than those that ship. Its
# target model_tests is all of them.
function(braid_tests folder)
  cmake_parse_arguments(TESTS "" "" "LINKS" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  string(REPLACE "/" "_" prefix ${folder})
  foreach(file IN LISTS files)
    cmake_path(GET file STEM stem)
    string(REGEX MATCH "_(test|model|stress)$" kind ${stem})
    if(NOT kind)
      message(FATAL_ERROR "${file}: a test file ends in _test, _model or _stress")
    endif()
    if((kind STREQUAL "_model" AND NOT BRAID_MODEL) OR (kind STREQUAL "_stress" AND BRAID_MODEL))
      continue()
    endif()
    set(target test_${prefix}_${stem})
    add_executable(${target} ${file})
    target_link_libraries(${target} PRIVATE ${TESTS_LINKS} braid_warnings braid_test_support)
    target_precompile_headers(${target} REUSE_FROM braid_test_headers)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${folder}
                                               OUTPUT_NAME ${stem})
    add_test(NAME ${folder}/${stem} COMMAND ${target} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(SUBSTRING ${kind} 1 -1 label)
    set_tests_properties(${folder}/${stem} PROPERTIES LABELS ${label} TIMEOUT 300)
    if(kind STREQUAL "_model")
      if(NOT TARGET model_tests)
        add_custom_target(model_tests)
      endif()
      add_dependencies(model_tests ${target})
    endif()
  endforeach()
endfunction()

# braid_test_variants(folder DEFINITION values… TESTS stem…)
#
# Builds these tests once for each value of a macro that they use: the first value is the one of <folder>/<stem>, the
# others get entries <folder>/<stem>.<value>.
function(braid_test_variants folder definition)
  cmake_parse_arguments(VARIANTS "" "" "VALUES;TESTS" ${ARGN})
  string(REPLACE "/" "_" prefix ${folder})
  foreach(stem IN LISTS VARIANTS_TESTS)
    set(original test_${prefix}_${stem})
    if(NOT TARGET ${original})
      continue()
    endif()
    list(POP_FRONT VARIANTS_VALUES first)
    target_compile_definitions(${original} PRIVATE ${definition}=${first})
    get_target_property(links ${original} LINK_LIBRARIES)
    get_test_property(${folder}/${stem} LABELS label)
    foreach(value IN LISTS VARIANTS_VALUES)
      set(target ${original}_${value})
      add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${folder}/${stem}.cpp)
      target_compile_definitions(${target} PRIVATE ${definition}=${value})
      target_link_libraries(${target} PRIVATE ${links})
      target_precompile_headers(${target} REUSE_FROM braid_test_headers)
      set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${folder}
                                                 OUTPUT_NAME ${stem}.${value})
      add_test(NAME ${folder}/${stem}.${value} COMMAND ${target} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(${folder}/${stem}.${value} PROPERTIES LABELS ${label} TIMEOUT 300)
    endforeach()
    list(PREPEND VARIANTS_VALUES ${first})
  endforeach()
endfunction()

# braid_test_environments(folder VARIABLE VALUES value … TESTS stem …)
#
# Runs tests of braid_tests(folder) once more for each value of a variable of the environment: <folder>/<stem>.<value>.
function(braid_test_environments folder variable)
  cmake_parse_arguments(RUNS "" "" "VALUES;TESTS" ${ARGN})
  string(REPLACE "/" "_" prefix ${folder})
  foreach(stem IN LISTS RUNS_TESTS)
    if(NOT TARGET test_${prefix}_${stem})
      continue()
    endif()
    get_test_property(${folder}/${stem} LABELS label)
    foreach(value IN LISTS RUNS_VALUES)
      add_test(NAME ${folder}/${stem}.${value} COMMAND test_${prefix}_${stem} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
      set_tests_properties(${folder}/${stem}.${value} PROPERTIES LABELS ${label} TIMEOUT 300 ENVIRONMENT ${variable}=${value})
    endforeach()
  endforeach()
endfunction()

# braid_test_refused(folder TESTS stem …)
#
# Runs tests of braid_tests(folder) once more where the system refuses io_uring: <folder>/<stem>.refused. That loops wait
# by epoll there is checked before the program begins.
function(braid_test_refused folder)
  cmake_parse_arguments(RUNS "" "" "TESTS" ${ARGN})
  string(REPLACE "/" "_" prefix ${folder})
  foreach(stem IN LISTS RUNS_TESTS)
    if(NOT TARGET test_${prefix}_${stem})
      continue()
    endif()
    get_test_property(${folder}/${stem} LABELS label)
    add_test(NAME ${folder}/${stem}.refused COMMAND braid_without_io_uring $<TARGET_FILE:test_${prefix}_${stem}>
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${folder}/${stem}.refused PROPERTIES LABELS ${label} TIMEOUT 300)
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
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fuzz)
  if(BRAID_FUZZ)
    target_sources(${target} PRIVATE ${folder}/libfuzzer.cpp)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    return()
  endif()
  target_sources(${target} PRIVATE ${folder}/driver.cpp)
  add_test(NAME fuzz/${name} COMMAND ${target} --runs 20000 ${folder}/corpus/${name}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()
