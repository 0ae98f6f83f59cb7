# page.cmake: converts the files of rankd/server/page to a C++ source, so that the program needs no other files.
set(PAGE_CPP ${CMAKE_CURRENT_BINARY_DIR}/page_files.cpp)
set(page_entries "")
foreach(file "=page.html=text/html" /page.css=page.css=text/css /page.mjs=page.mjs=text/javascript
             /graph.mjs=graph.mjs=text/javascript /layout.mjs=layout.mjs=text/javascript
             /model.mjs=model.mjs=text/javascript /dom.mjs=dom.mjs=text/javascript
             /versions.mjs=versions.mjs=text/javascript /compare.mjs=compare.mjs=text/javascript
             /comparison.mjs=comparison.mjs=text/javascript
             /placing.mjs=placing.mjs=text/javascript /server.mjs=server.mjs=text/javascript
             /layout_worker.mjs=layout_worker.mjs=text/javascript /source.mjs=source.mjs=text/javascript
             /source_text.mjs=source_text.mjs=text/javascript
             /options.mjs=options.mjs=text/javascript /compiling.mjs=compiling.mjs=text/javascript)
  string(REGEX MATCH "^(.*)=(.+)=(.+)$" matched "${file}")
  set(path "/ui${CMAKE_MATCH_1}")
  set(name ${CMAKE_CURRENT_SOURCE_DIR}/page/${CMAKE_MATCH_2})
  set(type "${CMAKE_MATCH_3}; charset=utf-8")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${name})
  file(READ ${name} text)
  string(APPEND page_entries "    {\"${path}\", \"${type}\", R\"page(${text})page\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${PAGE_CPP} @ONLY CONTENT [=[
// Made by rankd/server/page.cmake from rankd/server/page.
#include <rankd/server/studio/page.hpp>

namespace rankd {
namespace {

constexpr page_file files[] = {
@page_entries@};

}  // namespace

auto page_files() noexcept -> std::span<const page_file> { return files; }

}  // namespace rankd
]=])
