// rankd/server/endpoints/own_hosts.hpp: the requests that a server without tokens refuses, because a browser may send
// them for a page of another site.
#pragma once

#include <braid/net/http_message.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// A reason to refuse a request, as the code and the message of an error.
struct site_refusal {
  std::string code;
  std::string message;
};

/// The hosts that are names of one server. Without tokens a server cannot distinguish its clients from a browser that
/// shows a page of another site. Such a page can send requests to any address that the browser reaches, also to
/// 127.0.0.1. The browser says so in `Sec-Fetch-Site` and `Origin`, unless the page's own name points to this server
/// (DNS rebinding): then `Host` has that name. Programs other than browsers send neither field. Threads: any.
class own_hosts {
 public:
  /// Adds `names` to IP addresses and `localhost`, which no name server can point elsewhere. The name `*` allows every
  /// `Host`, but no further origin.
  explicit own_hosts(std::vector<std::string> names = {}) : names_(std::move(names)) {}

  /// Returns why the request must be refused; nothing if it may be answered. Codes: foreign_host, cross_site.
  [[nodiscard]] auto refusal_of(const braid::http_request_head& request) const -> std::optional<site_refusal>;

 private:
  [[nodiscard]] auto is_named(std::string_view host) const -> bool;
  [[nodiscard]] auto allows_host(std::string_view host) const -> bool;
  [[nodiscard]] auto allows_origin(std::string_view origin, std::string_view host) const -> bool;

  std::vector<std::string> names_;
};

/// Returns true for a name that `own_hosts` can have: a host without a port, or `*`.
[[nodiscard]] auto is_host_name(std::string_view text) -> bool;

}  // namespace rankd
