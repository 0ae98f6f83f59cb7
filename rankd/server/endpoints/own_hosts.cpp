// rankd/server/endpoints/own_hosts.cpp: compares the fields Host, Origin and Sec-Fetch-Site of a request with the names
// of the server.
#include <rankd/server/endpoints/own_hosts.hpp>

#include <rankd/registry/names.hpp>

#include <braid/io/sockets.hpp>

#include <algorithm>

namespace rankd {
namespace {

auto lower(char c) -> char { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

auto is_same(std::string_view a, std::string_view b) -> bool { return std::ranges::equal(a, b, {}, lower, lower); }

/// Removes the port from a host. The brackets of an IPv6 address are kept.
auto without_port(std::string_view host) -> std::string_view {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

auto is_address(std::string_view name) -> bool {
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return braid::socket_address::ip(name, 0).has_value();
}

/// Returns the host and the port of `http://host:port`, or nothing for `null` and for other schemes.
auto find_authority(std::string_view origin) -> std::optional<std::string_view> {
  for (const std::string_view scheme : {"http://", "https://"})
    if (is_same(origin.substr(0, scheme.size()), scheme)) return origin.substr(scheme.size());
  return std::nullopt;
}

auto cross_site(std::string_view field, std::string_view value) -> site_refusal {
  return {.code = "cross_site",
          .message = "a page of another origin sent this request (" + std::string(field) + ": " +
                     quote_name(std::string(value)) +
                     "); a server without tokens answers only its own pages and clients that are not browsers; to "
                     "admit other origins, start it with --token-file"};
}

}  // namespace

auto is_host_name(std::string_view text) -> bool {
  if (text == "*") return true;
  const auto is_allowed = [](char c) {
    const char small = lower(c);
    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  };
  return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, is_allowed);
}

auto own_hosts::is_named(std::string_view host) const -> bool {
  return std::ranges::any_of(names_,
                             [name = without_port(host)](std::string_view each) { return is_same(each, name); });
}

/// Returns whether the server may answer for a host. An empty host is allowed: browsers always send `Host`, and only
/// programs that use HTTP/1.0 leave it out.
auto own_hosts::allows_host(std::string_view host) const -> bool {
  if (host.empty() || is_named(host) || std::ranges::find(names_, "*") != names_.end()) return true;
  const std::string_view name = without_port(host);
  return is_same(name, "localhost") || is_address(name);
}

/// Returns whether a page of this origin may send requests. A proxy may rewrite `Host`, so the host of the origin may
/// also be another name of this server.
auto own_hosts::allows_origin(std::string_view origin, std::string_view host) const -> bool {
  const auto authority = find_authority(origin);
  return authority && !authority->empty() && (is_same(*authority, host) || is_named(*authority));
}

auto own_hosts::refusal_of(const braid::http_request_head& request) const -> std::optional<site_refusal> {
  if (!allows_host(request.host))
    return site_refusal{.code = "foreign_host",
                        .message = "`Host` is " + quote_name(std::string(request.host)) +
                                   "; a server without tokens answers to IP addresses, to localhost and to the names "
                                   "of --allow-host; add this name there, or start the server with --token-file"};
  // A repeated field is refused, because browsers send each of these fields only once.
  const auto site = request.fields.find("Sec-Fetch-Site");
  if (site && (request.fields.count("Sec-Fetch-Site") > 1 || (*site != "same-origin" && *site != "none")))
    return cross_site("Sec-Fetch-Site", *site);
  const auto origin = request.fields.find("Origin");
  if (origin && (request.fields.count("Origin") > 1 || !allows_origin(*origin, request.host)))
    return cross_site("Origin", *origin);
  return std::nullopt;
}

}  // namespace rankd
