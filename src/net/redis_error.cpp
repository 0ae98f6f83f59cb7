// src/net/redis_error.cpp: recognises the errors of Redis by their first word, and defines the messages of the error
// codes.
#include <braid/net/redis_options.hpp>

#include <braid/base/detail/number_in.hpp>

#include <array>
#include <string>

namespace braid {
namespace {

class redis_errors final : public std::error_category {
 public:
  [[nodiscard]] auto name() const noexcept -> const char* override { return "redis"; }

  [[nodiscard]] auto message(int value) const -> std::string override {
    switch (static_cast<redis_errc>(value)) {
      case redis_errc::refused: return "the server refused the command";
      case redis_errc::wrong_type: return "the key holds another kind of value";
      case redis_errc::loading: return "the server is loading its data";
      case redis_errc::moved: return "the slot of the key has moved to another node";
      case redis_errc::ask: return "the slot of the key is moving to another node";
      case redis_errc::try_again: return "the keys are temporarily on different nodes";
      case redis_errc::cross_slot: return "the keys have different slots";
      case redis_errc::cluster_down: return "the cluster is down";
      case redis_errc::no_authentication: return "the server requires a password";
      case redis_errc::wrong_password: return "the server does not accept this user and password";
      case redis_errc::no_permission: return "the user may not run the command";
      case redis_errc::out_of_memory: return "the server has reached its memory limit";
      case redis_errc::read_only: return "the server is a replica and accepts no writes";
      case redis_errc::master_down: return "the replica has lost its master";
      case redis_errc::busy: return "the server is busy with a script";
      case redis_errc::no_script: return "the server does not know the script";
      case redis_errc::cannot_save: return "the server refuses writes because it cannot save them";
      case redis_errc::aborted: return "the transaction was aborted";
      case redis_errc::too_many_clients: return "the server accepts no more connections";
      case redis_errc::protected_mode: return "the server accepts connections only from its own machine";
      case redis_errc::connection_lost: return "the connection ended before the reply arrived";
      case redis_errc::unexpected_reply: return "the server sent a reply of a wrong type for the command";
      case redis_errc::not_shared: return "the command would change the shared connection for all users";
      case redis_errc::no_address: return "the endpoint is not a valid address";
      case redis_errc::too_many_hops: return "the cluster redirected the command too often";
      case redis_errc::no_cluster: return "the server is not a node of a cluster";
      case redis_errc::no_transactions: return "a cluster does not support transactions";
      case redis_errc::out_of_order: return "the cluster ran a command of a batch after it had refused an earlier one";
    }
    return "unknown Redis error";
  }
};

struct named_error {
  std::string_view word;
  redis_errc code;
};

constexpr std::array<named_error, 22> named_errors{{
    {"WRONGTYPE", redis_errc::wrong_type},
    {"LOADING", redis_errc::loading},
    {"MOVED", redis_errc::moved},
    {"ASK", redis_errc::ask},
    {"TRYAGAIN", redis_errc::try_again},
    {"CROSSSLOT", redis_errc::cross_slot},
    {"CLUSTERDOWN", redis_errc::cluster_down},
    {"NOAUTH", redis_errc::no_authentication},
    {"WRONGPASS", redis_errc::wrong_password},
    {"NOPERM", redis_errc::no_permission},
    {"OOM", redis_errc::out_of_memory},
    {"READONLY", redis_errc::read_only},
    {"MASTERDOWN", redis_errc::master_down},
    {"BUSY", redis_errc::busy},
    {"NOSCRIPT", redis_errc::no_script},
    {"MISCONF", redis_errc::cannot_save},
    {"EXECABORT", redis_errc::aborted},
    {"DENIED", redis_errc::protected_mode},
    {"ERR invalid password", redis_errc::wrong_password},
    {"ERR This instance has cluster support disabled", redis_errc::no_cluster},
    {"ERR max number of clients reached", redis_errc::too_many_clients},
    {"ERR max number of clients + cluster connections reached", redis_errc::too_many_clients},
}};

auto begins_with_words(std::string_view text, std::string_view words) noexcept -> bool {
  return text.starts_with(words) && (text.size() == words.size() || text[words.size()] == ' ');
}

}  // namespace

auto detail::redis_category() noexcept -> const std::error_category& {
  static const redis_errors instance;
  return instance;
}

namespace {

/// Constructs the error category when the library is loaded. If a thread constructed it during a fork, the guard of
/// this static object would stay locked in the child.
[[maybe_unused]] const std::error_category& redis_errors_made_early = detail::redis_category();

}  // namespace

auto make_error_code(redis_errc code) noexcept -> std::error_code {
  return {static_cast<int>(code), detail::redis_category()};
}

auto detail::parse_redis_error(std::string_view text) noexcept -> redis_errc {
  for (const named_error& each : named_errors)
    if (begins_with_words(text, each.word)) return each.code;
  return redis_errc::refused;
}

auto detail::parse_redis_redirection(std::string_view text) noexcept -> std::optional<detail::redis_redirection> {
  const std::size_t first = text.find(' ');
  if (first == std::string_view::npos || (text.substr(0, first) != "MOVED" && text.substr(0, first) != "ASK"))
    return std::nullopt;
  text.remove_prefix(first + 1);
  const std::size_t second = text.find(' ');
  const std::size_t colon = text.rfind(':');
  if (second == std::string_view::npos || colon == std::string_view::npos || colon < second) return std::nullopt;
  const auto slot = detail::number_in<std::uint16_t>(text.substr(0, second));
  const auto port = detail::number_in<std::uint16_t>(text.substr(colon + 1));
  constexpr std::uint16_t slots = 16'384;
  if (!slot || *slot >= slots || !port || *port == 0) return std::nullopt;
  std::string_view host = text.substr(second + 1, colon - second - 1);
  if (host == "?") host = {};  // sent by servers that prefer names and have no name
  return detail::redis_redirection{.slot = *slot, .host = host, .port = *port};
}

}  // namespace braid
