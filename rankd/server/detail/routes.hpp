// rankd/server/detail/routes.hpp: the table of the endpoints of a server.
#pragma once

#include <rankd/server/detail/handlers.hpp>
#include <rankd/server/admission/in_flight_shares.hpp>

#include <braid/net/http_message.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace rankd::detail {

/// States which clients may use an endpoint.
enum class access : std::uint8_t {
  everyone,     ///< every client, even without a token
  token,        ///< a client with a valid token, if the server has tokens
  head,         ///< the same, but the handler checks the token together with the rest of the head
  edit,         ///< a client with the right `edit`, if the server has tokens
  see_shadows,  ///< a client with the right `shadow`
  see_traffic,  ///< a client with the right `shadow`
};

/// The maximum number of concurrent calls in all loops together. Routes with the same name share the limit.
struct route_limit {
  std::string_view name;
  std::size_t at_a_time = 0;
};

/// An endpoint of a server.
struct route {
  endpoint which = endpoint::other;
  braid::http_method method = braid::http_method::get;
  access needs = access::token;
  endpoint_handler* handler = nullptr;
  bool (*is_served)(const serve_shared& shared) = nullptr;  ///< null: every server serves the endpoint
  route_limit limit = {};                                   ///< without a name, there is no limit
  std::string_view path = name_of(which);                   ///< with `{name}` in place of one segment
};

/// Returns all endpoints, even those that this server does not serve.
[[nodiscard]] auto all_routes() -> std::span<const route>;

/// If this server does not serve an endpoint at this target, returns how to start a server that does, such as "`rankd
/// serve` with --ui". Returns an empty text if no server has such an endpoint.
[[nodiscard]] auto find_switch(const serve_shared& shared, std::string_view target) -> std::string_view;

/// Returns true if the client has access to an endpoint. Otherwise answers the request and returns false.
auto has_access(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, access needs) -> bool;

/// Counts a call against the limit of its endpoint. Returns nothing if the limit is reached.
[[nodiscard]] auto enter_route(endpoint_context& context, endpoint endpoint) -> std::optional<in_flight_shares::pass>;

}  // namespace rankd::detail
