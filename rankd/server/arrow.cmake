# arrow.cmake: compiles arrow.fbs into a header that writes and reads messages, for files/arrow_stream.cpp and tests.
find_program(FLATC flatc REQUIRED)
find_path(FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h REQUIRED)
set(ARROW_HEADERS ${CMAKE_CURRENT_BINARY_DIR}/arrow)
set(ARROW_HEADER ${ARROW_HEADERS}/arrow_generated.h)
add_custom_command(OUTPUT ${ARROW_HEADER}
  COMMAND ${FLATC} --cpp --scoped-enums -o ${ARROW_HEADERS} ${CMAKE_CURRENT_SOURCE_DIR}/arrow.fbs
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/arrow.fbs
  VERBATIM)
set_property(SOURCE files/arrow_stream.cpp APPEND PROPERTY COMPILE_OPTIONS -isystem ${ARROW_HEADERS})
add_library(rankd_arrow INTERFACE)
target_include_directories(rankd_arrow SYSTEM INTERFACE ${ARROW_HEADERS} ${FLATBUFFERS_INCLUDE_DIR})
