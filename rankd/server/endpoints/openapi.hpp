// rankd/server/endpoints/openapi.hpp: the OpenAPI description of the HTTP interface.
#pragma once

#include <string_view>

namespace rankd {

/// Returns docs/openapi.json as it was at build time.
[[nodiscard]] auto openapi_text() noexcept -> std::string_view;

}  // namespace rankd
