# openapi.cmake: docs/openapi.json made into a C++ source, so that the program gives the same text.
set(OPENAPI_CPP ${CMAKE_CURRENT_BINARY_DIR}/openapi.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/openapi.json)
file(READ ${PROJECT_SOURCE_DIR}/docs/openapi.json openapi_text)
file(CONFIGURE OUTPUT ${OPENAPI_CPP} @ONLY CONTENT [=[
// Made by rankd/server/openapi.cmake from docs/openapi.json.
#include <rankd/server/openapi.hpp>

namespace rankd {

auto openapi_text() noexcept -> std::string_view {
  return R"openapi(@openapi_text@)openapi";
}

}  // namespace rankd
]=])
