# dsl.cmake: the tests of the page, where Node is there, and of the compiler of plans, where the packages of dsl/ are there,
# too: `./dev test` installs them. No C++ compiler and no sanitizer changes them, so only the release build has them.
if(NOT BRAID_PROGRAMS OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  return()
endif()
find_program(NODE_EXECUTABLE NAMES node nodejs)
if(NODE_EXECUTABLE)  # the page of plans has no packages
  foreach(name comparison layout markup model source_text)
    add_test(NAME page/${name}
             COMMAND ${NODE_EXECUTABLE} --test tests/rankd/server/page/${name}.test.mjs
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(page/${name} PROPERTIES LABELS dsl TIMEOUT 600)
  endforeach()
endif()
if(NODE_EXECUTABLE AND EXISTS ${PROJECT_SOURCE_DIR}/dsl/node_modules/typescript/lib/tsc.js)
  add_test(NAME dsl/build
           COMMAND ${NODE_EXECUTABLE} node_modules/typescript/lib/tsc.js -b
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/dsl)
  set_tests_properties(dsl/build PROPERTIES LABELS dsl TIMEOUT 600 COST 100 FIXTURES_SETUP dsl_compiler)
  file(GLOB dsl_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/dsl/test/*.test.ts)
  foreach(file IN LISTS dsl_tests)
    cmake_path(GET file STEM stem)
    add_test(NAME dsl/${stem}
             COMMAND ${NODE_EXECUTABLE} --test dist-test/${stem}.test.js
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}/dsl)
    set_tests_properties(dsl/${stem} PROPERTIES LABELS dsl TIMEOUT 600 COST 30 FIXTURES_REQUIRED dsl_compiler
                                                ENVIRONMENT "RANKD=$<TARGET_FILE:rankd>")
  endforeach()
  set_tests_properties(dsl/cli PROPERTIES COST 60)
else()
  message(STATUS "Node or dsl/node_modules is missing: the tests of dsl/ are left out")
endif()
