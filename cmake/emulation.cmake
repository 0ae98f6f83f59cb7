# Tests of programs for another processor, which an emulator runs: more time for each, and tests/emulation.txt, which names
# what is left out, and why. Everything here does nothing where the programs are for this machine.

set(BRAID_EMULATION ${PROJECT_SOURCE_DIR}/tests/emulation.txt)
if(WIN32)
  set(BRAID_EMULATION ${PROJECT_SOURCE_DIR}/tests/windows.txt)
endif()
set(braid_left_out_tests "")  # regular expressions for names of CTest
set(braid_left_out_cases "")  # FOLDER/STEM: CASE
if(CMAKE_CROSSCOMPILING)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${BRAID_EMULATION})
  file(STRINGS ${BRAID_EMULATION} lines REGEX "^[^#]")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([^|]*[^ |]) +[|] .+")
      message(FATAL_ERROR "${BRAID_EMULATION}: a line is `NAME | REASON`, and this one is not: ${line}")
    endif()
    set(what "${CMAKE_MATCH_1}")
    if(what MATCHES "^([^:]+): (.+)$")
      list(APPEND braid_left_out_cases "${what}")
      file(READ ${PROJECT_SOURCE_DIR}/tests/${CMAKE_MATCH_1}.cpp found)
      string(FIND "${found}" "\"${CMAKE_MATCH_2}\"" at)
      if(at EQUAL -1)
        message(FATAL_ERROR "${BRAID_EMULATION}: tests/${CMAKE_MATCH_1}.cpp has no case of this name: ${CMAKE_MATCH_2}")
      endif()
    else()
      list(APPEND braid_left_out_tests "${what}")
    endif()
  endforeach()
endif()

# braid_left_out_options(name OUT): what keeps doctest from the cases of the test file that are left out.
function(braid_left_out_options name out)
  set(cases "")
  foreach(entry IN LISTS braid_left_out_cases)
    if(entry MATCHES "^${name}: (.+)$")
      string(REPLACE "," "?" case "${CMAKE_MATCH_1}")  # any letter: a comma would begin another name
      list(APPEND cases "${case}")
    endif()
  endforeach()
  set(options "")
  if(cases)
    list(JOIN cases "," cases)  # doctest looks at one option of a name
    set(options "--test-case-exclude=${cases}")
  endif()
  set(${out} "${options}" PARENT_SCOPE)
endfunction()

# braid_is_left_out(name OUT): whether a whole test file is left out, and so need not be compiled.
function(braid_is_left_out name out)
  set(${out} FALSE PARENT_SCOPE)
  if(WIN32 AND name IN_LIST braid_left_out_tests)
    set(${out} TRUE PARENT_SCOPE)
    set_property(GLOBAL APPEND PROPERTY BRAID_LEFT_OUT "${name}")
  endif()
endfunction()

# braid_emulate_tests(): called by braid_finish_tests(), when all tests of a directory are defined.
function(braid_emulate_tests)
  if(NOT CMAKE_CROSSCOMPILING)
    return()
  endif()
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    get_test_property(${test} TIMEOUT seconds)
    if(seconds AND NOT WIN32)  # wine runs programs for this processor
      math(EXPR seconds "${seconds} * 10")  # which is what emulation takes of a processor that computes
      set_tests_properties(${test} PROPERTIES TIMEOUT ${seconds})
    endif()
    foreach(name IN LISTS braid_left_out_tests)
      if(test MATCHES "^(${name})$")
        set_tests_properties(${test} PROPERTIES DISABLED ON)
        set_property(GLOBAL APPEND PROPERTY BRAID_LEFT_OUT "${name}")
      endif()
    endforeach()
  endforeach()
endfunction()

# braid_check_emulation(): at the end. A name that no test has any more is a mistake.
function(braid_check_emulation)
  get_property(used GLOBAL PROPERTY BRAID_LEFT_OUT)
  foreach(name IN LISTS braid_left_out_tests)
    if(NOT name IN_LIST used)
      message(FATAL_ERROR "${BRAID_EMULATION}: no test has this name: ${name}")
    endif()
  endforeach()
endfunction()
