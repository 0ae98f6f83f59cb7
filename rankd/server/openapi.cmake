# openapi.cmake: converts docs/openapi.json to a C++ source, so that the program serves the same text. It consists of
# bytes, because a string literal may have only 65536.
set(OPENAPI_CPP ${CMAKE_CURRENT_BINARY_DIR}/openapi.cpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/openapi.json)
file(READ ${PROJECT_SOURCE_DIR}/docs/openapi.json openapi_text HEX)
string(REGEX REPLACE "(..)" "0x\\1," openapi_bytes "${openapi_text}")
file(CONFIGURE OUTPUT ${OPENAPI_CPP} @ONLY CONTENT [=[
// Made by rankd/server/openapi.cmake from docs/openapi.json.
#include <rankd/server/endpoints/openapi.hpp>

namespace rankd {
namespace {

constexpr unsigned char bytes[] = {@openapi_bytes@};

}  // namespace

auto openapi_text() noexcept -> std::string_view {
  return {reinterpret_cast<const char*>(bytes), sizeof(bytes)};
}

}  // namespace rankd
]=])
