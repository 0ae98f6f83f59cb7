// rankd/server/endpoints/own_hosts.hpp: detects requests that a browser may have sent on behalf of another site's page.
// A server without tokens refuses such requests.
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

/// The host names of a server. Without tokens, a server cannot distinguish its clients from a browser that shows a page
/// of another site. Such a page can send requests to any address that the browser reaches, even to 127.0.0.1. The
/// browser reports the page's site in `Sec-Fetch-Site` and `Origin`. If the page's own name resolves to this server
/// (DNS rebinding), these fields show nothing suspicious, but `Host` contains the page's name. Programs other than
/// browsers send neither field. Threads: any.
class own_hosts {
 public:
  /// Allows IP addresses, `localhost` and the given names. A name server cannot redirect IP addresses or `localhost`,
  /// so it is always safe to allow these. The name `*` allows every value of `Host`, but no additional origin.
  explicit own_hosts(std::vector<std::string> names = {}) : names_(std::move(names)) {}

  /// Returns why the request must be refused, or nothing if it is allowed. Codes: foreign_host, cross_site.
  [[nodiscard]] auto refusal_of(const braid::http_request_head& request) const -> std::optional<site_refusal>;

 private:
  [[nodiscard]] auto is_named(std::string_view host) const -> bool;
  [[nodiscard]] auto allows_host(std::string_view host) const -> bool;
  [[nodiscard]] auto allows_origin(std::string_view origin, std::string_view host) const -> bool;

  std::vector<std::string> names_;
};

/// Returns whether a text is valid as a name for `own_hosts`: a host without a port, or `*`.
[[nodiscard]] auto is_host_name(std::string_view text) -> bool;

}  // namespace rankd
