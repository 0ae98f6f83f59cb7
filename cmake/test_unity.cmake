# Unity builds of tests: many test files in one translation unit, so that their headers are read and their templates made
# once. Test files may give the same names to their helpers, so each is included within a namespace of its own, after all
# headers that any of them includes:
#
#     #include <vector>
#     namespace unity_pool_test {
#     #include "/…/tests/task/pool_test.cpp"
#     }
#
# The headers' own guards make the includes inside do nothing. A file is compiled alone where that cannot work (it opens a
# namespace of another, defines a macro, or includes under a condition), and where git says that it is being worked on: then
# a change compiles that one file.

# braid_can_share(file OUT): whether it may stand in one translation unit with others.
function(braid_can_share file out)
  set(${out} TRUE PARENT_SCOPE)
  file(STRINGS ${file} odd REGEX "^#(define|if)|^template <>|^namespace (braid|rankd|std|doctest)|^extern ")
  if(odd)
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# braid_unity_source(out_file FILES file … TO list): writes one translation unit, where there are several files, and adds
# it to the list. One that has not changed keeps its time.
function(braid_unity_source out_file)
  cmake_parse_arguments(UNITY "" "TO" "FILES" ${ARGN})
  list(LENGTH UNITY_FILES count)
  if(count EQUAL 1)
    set(${UNITY_TO} ${${UNITY_TO}} ${UNITY_FILES} PARENT_SCOPE)
    return()
  endif()
  set(includes "")
  set(bodies "")
  foreach(file IN LISTS UNITY_FILES)
    file(STRINGS ${file} lines REGEX "^#include")
    list(APPEND includes ${lines})
    cmake_path(GET file STEM stem)
    string(APPEND bodies "namespace unity_${stem} {\n#include \"${file}\"\n}\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  list(REMOVE_DUPLICATES includes)
  list(JOIN includes "\n" includes)
  file(CONFIGURE OUTPUT ${out_file} CONTENT "${includes}\n${bodies}" @ONLY)
  set(${UNITY_TO} ${${UNITY_TO}} ${out_file} PARENT_SCOPE)
endfunction()

# braid_unity(prefix OUT FILES file …): the files with as many as possible replaced by translation units of theirs,
# written as <binary dir>/unity/<prefix>_<n>.cpp.
function(braid_unity prefix out)
  cmake_parse_arguments(UNITY "" "" "FILES" ${ARGN})
  set(sources "")
  set(group "")
  set(group_bytes 0)
  set(number 0)
  foreach(file IN LISTS UNITY_FILES)
    braid_can_share(${file} shares)
    if(NOT BRAID_UNITY OR NOT shares OR file IN_LIST BRAID_EDITED_FILES)
      list(APPEND sources ${file})
      continue()
    endif()
    file(SIZE ${file} bytes)
    math(EXPR sum "${group_bytes} + ${bytes}")
    if(group AND sum GREATER BRAID_UNITY_BYTES)
      braid_unity_source(${PROJECT_BINARY_DIR}/unity/${prefix}_${number}.cpp FILES ${group} TO sources)
      math(EXPR number "${number} + 1")
      set(group "")
      set(sum ${bytes})
    endif()
    list(APPEND group ${file})
    set(group_bytes ${sum})
  endforeach()
  if(group)
    braid_unity_source(${PROJECT_BINARY_DIR}/unity/${prefix}_${number}.cpp FILES ${group} TO sources)
  endif()
  set(${out} "${sources}" PARENT_SCOPE)
endfunction()
