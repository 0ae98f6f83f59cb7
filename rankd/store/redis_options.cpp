// rankd/store/redis_options.cpp: converts endpoints, URLs and environment variables to options of a Redis connection.
#include <rankd/store/redis_options.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/store/detail/environment.hpp>

#include <braid/base/detail/number_in.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_client.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <netdb.h>
#include <sys/socket.h>

namespace rankd {
namespace {

enum class extent : std::uint8_t { server, cluster };
enum class carrier : std::uint8_t { plain, tls };
struct url_scheme {
  std::string_view begin;
  extent what;
  carrier by;
};
constexpr std::array schemes{
    url_scheme{"redis://", extent::server, carrier::plain},
    url_scheme{"rediss://", extent::server, carrier::tls},
    url_scheme{"redis-cluster://", extent::cluster, carrier::plain},
    url_scheme{"rediss-cluster://", extent::cluster, carrier::tls},
};
constexpr std::uint16_t usual_port = 6379;
constexpr std::uint32_t max_databases = 1'000'000;
/// The maximum length of a reply. This length permits ten million ids, which is the maximum that a plan's source may
/// request.
constexpr std::uint32_t max_reply_bytes = 1U << 30U;

/// Parses a whole text as a number of at most `max_count`.
auto number_of(std::string_view text, std::uint32_t max_count) -> std::optional<std::uint32_t> {
  const auto value = braid::detail::number_in<std::uint32_t>(text);
  return value && *value <= max_count ? value : std::nullopt;
}

// The functions below read environment variables.

enum class given : std::uint8_t { nothing, already };

/// Adds the login and the number of the database from the environment, unless they are already given.
auto add_environment(braid::redis_options& server, std::string_view endpoint_id, given login, given database)
    -> braid::checked<void> {
  if (login == given::nothing) {
    if (auto user = detail::find_variable("RANKD_REDIS_USER", endpoint_id)) server.user = std::move(user->value);
    if (auto password = detail::find_variable("RANKD_REDIS_PASSWORD", endpoint_id))
      server.password = std::move(password->value);
  }
  if (database == given::already) return {};
  const auto chosen = detail::find_variable("RANKD_REDIS_DATABASE", endpoint_id);
  if (!chosen) return {};
  const auto number = number_of(chosen->value, max_databases);
  if (!number)
    return refused(
        "bad_environment",
        "the variable " + chosen->name + " is " + quote_name(chosen->value) + ", which is not a database number",
        "Redis numbers its databases from 0");
  server.database = *number;
  return {};
}

// The functions below resolve addresses.

auto text_of(const addrinfo& found) -> std::string {
  const auto address = braid::socket_address::from_system(found.ai_addr, found.ai_addrlen);
  return address ? address->host() : std::string();
}

/// Returns the address of a host. If the host has several addresses, returns the first IPv4 address, because servers
/// listen on IPv4 by default.
auto find_address(const std::string& host) -> braid::checked<std::string> {
  if (braid::socket_address::ip(host, usual_port)) return host;
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (status != 0)
    return refused("unknown_host", "the host " + quote_name(host) + " has no address: " + ::gai_strerror(status));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, &::freeaddrinfo);
  std::string best;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next)
    if (best.empty() || (each->ai_family == AF_INET && best.find(':') != std::string::npos)) best = text_of(*each);
  return best;
}

// The functions below parse URLs.

struct redis_url {
  const url_scheme* scheme = nullptr;
  std::string user;
  std::string password;
  bool has_login = false;
  std::vector<braid::redis_cluster::options::node> nodes;
  std::optional<std::uint32_t> database;
};

auto find_scheme(std::string_view url) noexcept -> const url_scheme* {
  const auto* const found =
      std::ranges::find_if(schemes, [&](const url_scheme& each) { return url.starts_with(each.begin); });
  return found == schemes.end() ? nullptr : found;
}

/// Returns a diagnostic about a URL. `message` must not contain the URL, because a URL may contain a password.
auto bad_url(const std::string& message) -> std::unexpected<braid::diagnostics> {
  return refused("bad_redis_url", "the URL of the store " + message,
                 "write redis://HOST:PORT/DATABASE or redis-cluster://HOST:PORT,HOST:PORT; the password belongs in "
                 "RANKD_REDIS_PASSWORD");
}

auto read_login(std::string_view text, redis_url& out) -> braid::checked<void> {
  const std::size_t colon = text.find(':');
  const auto user =
      braid::http_url::percent_decoded(colon == std::string_view::npos ? std::string_view() : text.substr(0, colon));
  const auto password =
      braid::http_url::percent_decoded(colon == std::string_view::npos ? text : text.substr(colon + 1));
  if (!user || !password) return bad_url("contains a % without two hexadecimal digits in the user or password");
  if (password->empty()) return bad_url("contains an @ without a password before it");
  out.user = *user;
  out.password = *password;
  out.has_login = true;
  return {};
}

/// Parses `host`, `host:port`, `[address]` or `[address]:port`.
auto read_address(std::string_view text, redis_url& out) -> braid::checked<void> {
  auto& node = out.nodes.emplace_back();
  node.port = usual_port;
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == std::string_view::npos) return bad_url("has a [ without a ]");
  node.host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  if (node.host.empty()) return bad_url("names no host");
  if (node.host.contains(',')) return bad_url("names several hosts, but only a redis-cluster:// URL may name several");
  std::string_view rest = end == std::string_view::npos ? std::string_view() : text.substr(bracketed ? end + 1 : end);
  if (rest.empty()) return {};
  const auto port = rest.starts_with(':') ? number_of(rest.substr(1), UINT16_MAX) : std::nullopt;
  if (!port || *port == 0) return bad_url("contains text after the host that is not a port");
  node.port = static_cast<std::uint16_t>(*port);
  return {};
}

/// Parses the address of a server, or for a cluster several addresses, separated by commas.
auto read_addresses(std::string_view text, redis_url& out) -> braid::checked<void> {
  while (out.scheme->what == extent::cluster) {
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) break;
    if (auto read = read_address(text.substr(0, comma), out); !read) return read;
    text = text.substr(comma + 1);
  }
  return read_address(text, out);
}

auto parse(std::string_view url) -> braid::checked<redis_url> {
  redis_url out;
  out.scheme = find_scheme(url);
  if (out.scheme == nullptr) return bad_url("does not begin with redis://");
  std::string_view rest = url.substr(out.scheme->begin.size());
  if (const std::size_t slash = rest.find('/', rest.find_last_of('@') + 1); slash != std::string_view::npos) {
    const std::string_view database = rest.substr(slash + 1);
    if (!database.empty()) out.database = number_of(database, max_databases);
    if (!database.empty() && !out.database) return bad_url("names a database that is not a number");
    if (out.scheme->what == extent::cluster && out.database.value_or(0) != 0)
      return bad_url("names a database, but a cluster has only one");
    rest = rest.substr(0, slash);
  }
  if (const std::size_t at = rest.find_last_of('@'); at != std::string_view::npos) {
    if (auto read = read_login(rest.substr(0, at), out); !read) return std::unexpected(std::move(read.error()));
    rest = rest.substr(at + 1);
  }
  if (auto read = read_addresses(rest, out); !read) return std::unexpected(std::move(read.error()));
  return out;
}

// The functions below are used for both endpoints and URLs.

/// Resolves the hosts of a server or cluster and stores their addresses. The first host, as it was written, becomes
/// `server_name`.
auto put_addresses(redis_address& server, std::vector<braid::redis_cluster::options::node> addresses, extent kind)
    -> braid::checked<void> {
  server.server_name = addresses.front().host;
  for (auto& each : addresses) {
    auto address = find_address(each.host);
    if (!address) return std::unexpected(std::move(address.error()));
    each.host = std::move(*address);
  }
  if (kind == extent::cluster) {
    server.nodes = std::move(addresses);
    return {};
  }
  server.host = std::move(addresses.front().host);
  server.port = addresses.front().port;
  return {};
}

/// Adds to the address of a server the settings from the environment and, for TLS, a TLS context.
auto completed(redis_address server, std::string_view endpoint_id, carrier transport, given login, given database)
    -> braid::checked<redis_address> {
  if (auto added = add_environment(server, endpoint_id, login, database); !added)
    return std::unexpected(std::move(added.error()));
  if (transport == carrier::plain) return server;
  auto context = detail::tls_of_environment("RANKD_REDIS_AUTHORITIES", endpoint_id);
  if (!context) return std::unexpected(std::move(context.error()));
  server.tls = std::move(*context);
  return server;
}

}  // namespace

auto redis_address::as_cluster() const -> braid::redis_cluster::options {
  return {.nodes = nodes, .connection = *this, .reads = reads};
}

auto is_redis_url(std::string_view text) noexcept -> bool { return find_scheme(text) != nullptr; }

auto check_redis_url(std::string_view url) -> braid::checked<void> {
  if (auto parsed = parse(url); !parsed) return std::unexpected(std::move(parsed.error()));
  return {};
}

auto parse_redis_options(const endpoint_entry& endpoint) -> braid::checked<redis_address> {
  redis_address server;
  std::vector<braid::redis_cluster::options::node> addresses;
  const auto* const cluster = std::get_if<endpoint_entry::cluster_resolver>(&endpoint.resolver);
  bool by_tls = false;
  if (cluster != nullptr) {
    for (const auto& each : cluster->nodes) addresses.push_back({each.host, each.port});
    server.reads =
        cluster->from_replicas ? braid::redis_cluster::reads::replicas : braid::redis_cluster::reads::masters;
    by_tls = cluster->by_tls;
  } else {
    const auto& one = std::get<endpoint_entry::static_resolver>(endpoint.resolver);
    addresses.push_back({one.host, one.port});
    by_tls = one.by_tls;
  }
  server.connect_timeout = endpoint.policy.connect_timeout;
  server.request_timeout = endpoint.policy.request_timeout;
  server.in_flight = endpoint.policy.max_inflight;
  server.limits.reply = max_reply_bytes;
  if (auto put = put_addresses(server, std::move(addresses), cluster != nullptr ? extent::cluster : extent::server);
      !put)
    return std::unexpected(std::move(put.error()));
  return completed(std::move(server), endpoint.endpoint_id, by_tls ? carrier::tls : carrier::plain, given::nothing,
                   given::nothing);
}

auto parse_redis_options(std::string_view url) -> braid::checked<redis_address> {
  auto parsed = parse(url);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  redis_address server;
  server.user = std::move(parsed->user);
  server.password = std::move(parsed->password);
  server.database = parsed->database.value_or(0);
  const given login = parsed->has_login ? given::already : given::nothing;
  const given database = parsed->database ? given::already : given::nothing;
  if (auto put = put_addresses(server, std::move(parsed->nodes), parsed->scheme->what); !put)
    return std::unexpected(std::move(put.error()));
  return completed(std::move(server), {}, parsed->scheme->by, login, database);
}

auto find_place(const redis_address& server) -> std::string {
  if (!server.socket_path.empty()) return server.socket_path;
  const std::string secure = server.tls ? "rediss" : "redis";
  const auto text = [](const std::string& host, std::uint16_t port) {
    const bool is_v6 = host.find(':') != std::string::npos;
    return (is_v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  };
  if (!server.is_cluster())
    return secure + "://" + text(server.host, server.port) + "/" + std::to_string(server.database);
  std::string all;
  for (const auto& each : server.nodes) all += (all.empty() ? "" : ",") + text(each.host, each.port);
  return secure + "-cluster://" + all;
}

}  // namespace rankd
