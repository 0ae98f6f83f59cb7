// rankd/store/redis_options.cpp: endpoints, URLs and variables made into options of a connection.
#include <rankd/store/redis_options.hpp>

#include <rankd/registry/names.hpp>

#include <braid/io/socket_address.hpp>
#include <braid/net/http_url.hpp>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <netdb.h>
#include <sys/socket.h>

namespace rankd {
namespace {

constexpr std::string_view scheme = "redis://";
constexpr std::uint16_t usual_port = 6379;
constexpr std::uint32_t most_databases = 1'000'000;
/// A list of ten million ids, the most that a source may ask for, must fit.
constexpr std::uint32_t most_reply_bytes = 1U << 30U;

auto refused(std::string_view code, std::string message, std::string hint = {}) -> std::unexpected<braid::diagnostics> {
  return std::unexpected(braid::diagnostics({.code = std::string(code),
                                             .pointer = {},
                                             .message = std::move(message),
                                             .hint = std::move(hint),
                                             .node = {},
                                             .source = {}}));
}

/// The whole of a text as a number of at most `most`.
auto number_of(std::string_view text, std::uint32_t most) -> std::optional<std::uint32_t> {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || rest != end || value > most) return std::nullopt;
  return value;
}

// The environment

struct found_variable {
  std::string name;
  std::string value;
};

/// RANKD_REDIS_<what>_EP_0001 where it is set, or else RANKD_REDIS_<what>.
auto variable(std::string_view what, std::string_view endpoint_id) -> std::optional<found_variable> {
  const std::string general = "RANKD_REDIS_" + std::string(what);
  std::string own = general + "_";
  for (const char c : endpoint_id) own += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (!endpoint_id.empty())
    if (const char* value = std::getenv(own.c_str())) return found_variable{std::move(own), value};
  if (const char* value = std::getenv(general.c_str())) return found_variable{general, value};
  return std::nullopt;
}

enum class given : std::uint8_t { nothing, already };

/// Fills in what is not given already.
auto add_environment(braid::redis_options& server, std::string_view endpoint_id, given login, given database)
    -> braid::checked<void> {
  if (login == given::nothing) {
    if (auto user = variable("USER", endpoint_id)) server.user = std::move(user->value);
    if (auto password = variable("PASSWORD", endpoint_id)) server.password = std::move(password->value);
  }
  if (database == given::already) return {};
  const auto chosen = variable("DATABASE", endpoint_id);
  if (!chosen) return {};
  const auto number = number_of(chosen->value, most_databases);
  if (!number)
    return refused("bad_environment",
                   "the variable " + chosen->name + " is " + quote_name(chosen->value) + ", which is no database",
                   "Redis numbers its databases from 0");
  server.database = *number;
  return {};
}

// Addresses

auto text_of(const addrinfo& found) -> std::string {
  const auto address = braid::socket_address::from_system(found.ai_addr, found.ai_addrlen);
  return address ? address->host() : std::string();
}

/// The address of a host; of several the first of IPv4, because that is where a server listens that was told nothing.
auto address_of(const std::string& host) -> braid::checked<std::string> {
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

// URLs

struct redis_url {
  std::string user;
  std::string password;
  bool has_login = false;
  std::string host;
  std::uint16_t port = usual_port;
  std::optional<std::uint32_t> database;
};

/// What is wrong with a URL must not repeat its password.
auto bad_url(std::string message) -> std::unexpected<braid::diagnostics> {
  return refused("bad_redis_url", "the URL of the store " + message,
                 "write redis://HOST:PORT/DATABASE; the password belongs into RANKD_REDIS_PASSWORD");
}

auto read_login(std::string_view text, redis_url& out) -> braid::checked<void> {
  const std::size_t colon = text.find(':');
  const auto user =
      braid::percent_decoded(colon == std::string_view::npos ? std::string_view() : text.substr(0, colon));
  const auto password = braid::percent_decoded(colon == std::string_view::npos ? text : text.substr(colon + 1));
  if (!user || !password) return bad_url("has a % without two digits in its user or password");
  if (password->empty()) return bad_url("has an @ without a password before it");
  out.user = *user;
  out.password = *password;
  out.has_login = true;
  return {};
}

/// `host`, `host:port`, `[address]` or `[address]:port`.
auto read_place(std::string_view text, redis_url& out) -> braid::checked<void> {
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && end == std::string_view::npos) return bad_url("has a [ without its ]");
  out.host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  if (out.host.empty()) return bad_url("names no host");
  std::string_view rest = end == std::string_view::npos ? std::string_view() : text.substr(bracketed ? end + 1 : end);
  if (rest.empty()) return {};
  const auto port = rest.starts_with(':') ? number_of(rest.substr(1), UINT16_MAX) : std::nullopt;
  if (!port || *port == 0) return bad_url("has something behind its host that is no port");
  out.port = static_cast<std::uint16_t>(*port);
  return {};
}

auto parse(std::string_view url) -> braid::checked<redis_url> {
  redis_url out;
  if (!is_redis_url(url)) return bad_url("does not begin with redis://");
  std::string_view rest = url.substr(scheme.size());
  if (const std::size_t slash = rest.find('/', rest.find_last_of('@') + 1); slash != std::string_view::npos) {
    const std::string_view database = rest.substr(slash + 1);
    if (!database.empty()) out.database = number_of(database, most_databases);
    if (!database.empty() && !out.database) return bad_url("names a database that is no number");
    rest = rest.substr(0, slash);
  }
  if (const std::size_t at = rest.find_last_of('@'); at != std::string_view::npos) {
    if (auto read = read_login(rest.substr(0, at), out); !read) return std::unexpected(std::move(read.error()));
    rest = rest.substr(at + 1);
  }
  if (auto read = read_place(rest, out); !read) return std::unexpected(std::move(read.error()));
  return out;
}

}  // namespace

auto is_redis_url(std::string_view text) noexcept -> bool { return text.starts_with(scheme); }

auto check_redis_url(std::string_view url) -> braid::checked<void> {
  if (auto parsed = parse(url); !parsed) return std::unexpected(std::move(parsed.error()));
  return {};
}

auto redis_options_of(const endpoint_entry& endpoint) -> braid::checked<braid::redis_options> {
  const auto& where = std::get<endpoint_entry::static_resolver>(endpoint.resolver);
  auto address = address_of(where.host);
  if (!address) return std::unexpected(std::move(address.error()));
  braid::redis_options server;
  server.host = std::move(*address);
  server.port = where.port;
  server.connect_timeout = endpoint.policy.connect_timeout;
  server.request_timeout = endpoint.policy.request_timeout;
  server.in_flight = endpoint.policy.max_inflight;
  server.limits.reply = most_reply_bytes;
  if (auto added = add_environment(server, endpoint.endpoint_id, given::nothing, given::nothing); !added)
    return std::unexpected(std::move(added.error()));
  return server;
}

auto redis_options_of(std::string_view url) -> braid::checked<braid::redis_options> {
  auto parsed = parse(url);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  auto address = address_of(parsed->host);
  if (!address) return std::unexpected(std::move(address.error()));
  braid::redis_options server;
  server.host = std::move(*address);
  server.port = parsed->port;
  server.user = std::move(parsed->user);
  server.password = std::move(parsed->password);
  server.database = parsed->database.value_or(0);
  const given login = parsed->has_login ? given::already : given::nothing;
  const given database = parsed->database ? given::already : given::nothing;
  if (auto added = add_environment(server, {}, login, database); !added)
    return std::unexpected(std::move(added.error()));
  return server;
}

auto place_of(const braid::redis_options& server) -> std::string {
  if (!server.socket_path.empty()) return server.socket_path;
  const bool is_v6 = server.host.find(':') != std::string::npos;
  return "redis://" + (is_v6 ? "[" + server.host + "]" : server.host) + ":" + std::to_string(server.port) + "/" +
         std::to_string(server.database);
}

}  // namespace rankd
