# braid_edited_files(OUT): the files of this checkout that differ from its last commit, as absolute paths.
function(braid_edited_files out)
  set(edited "")
  if(NOT DEFINED ENV{CI})
    find_package(Git QUIET)
  endif()
  if(GIT_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} status --porcelain --untracked-files=all -- rankd src tests
                    OUTPUT_VARIABLE lines ERROR_QUIET RESULT_VARIABLE status)
    if(status EQUAL 0)
      string(REGEX MATCHALL "[^\n]+" lines "${lines}")
      foreach(line IN LISTS lines)
        string(REGEX REPLACE "^...(.* -> )?" "" path "${line}")
        list(APPEND edited "${PROJECT_SOURCE_DIR}/${path}")
      endforeach()
    endif()
  endif()
  set(${out} "${edited}" PARENT_SCOPE)
endfunction()

braid_edited_files(BRAID_EDITED_FILES)
set(BRAID_TOGETHER 16)  # sources in one translation unit: a twelfth less time than 8

# braid_compile_together(target SOURCES source … [ALONE source …]): BRAID_TOGETHER sources of a layer in one translation
# unit, so that their headers are read and their templates made once. Names in anonymous namespaces must differ within
# such a unit, or their file is named as ALONE. A file that git says is being worked on is compiled alone, and the units of
# the others stay what they are. The preset `plain` compiles each source for itself.
function(braid_compile_together target)
  cmake_parse_arguments(TOGETHER "" "" "SOURCES;ALONE" ${ARGN})
  if(NOT BRAID_UNITY OR NOT BRAID_PRECOMPILE)
    return()
  endif()
  list(REMOVE_ITEM TOGETHER_SOURCES ${TOGETHER_ALONE})
  set(at 0)
  foreach(source IN LISTS TOGETHER_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR ${source} made)  # lists of files, which all have one name
    if(made)
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    math(EXPR unit "${at} / ${BRAID_TOGETHER}")
    if(NOT source IN_LIST BRAID_EDITED_FILES)
      set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${unit})
    endif()
    math(EXPR at "${at} + 1")
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ treats a source that another file includes as a header, and so warns about every coroutine frame that holds a
    # lambda. The preset `plain`, which compiles each source alone, keeps the warning for real headers.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()
