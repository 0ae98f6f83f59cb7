// braid/net/redis_error.hpp: why a command has no answer: what a Redis server refuses, and what a connection meets.
#pragma once

#include <braid/base/config.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace braid {

/// Refusals of a server, by the first word of its error, and those of a client. A connection also reports the system's
/// errors, `resp_errc` for what is no RESP, errc::deadline_exceeded, errc::closed and errc::full.
enum class redis_errc : std::uint8_t {
  refused = 1,        ///< ERR and every word that has no code of its own
  wrong_type,         ///< WRONGTYPE: the key holds another kind of value
  loading,            ///< LOADING: the server reads its data and answers soon
  moved,              ///< MOVED: the slot of the key lives at another node
  ask,                ///< ASK: the slot is on its way to another node
  try_again,          ///< TRYAGAIN: the keys of a command are not at one node for the moment
  cross_slot,         ///< CROSSSLOT: the keys of a command have different slots
  cluster_down,       ///< CLUSTERDOWN
  no_authentication,  ///< NOAUTH: a password is wanted
  wrong_password,     ///< WRONGPASS, and what older servers say instead
  no_permission,      ///< NOPERM: the user may not run the command
  out_of_memory,      ///< OOM: the server's memory is at its limit
  read_only,          ///< READONLY: a write at a replica
  master_down,        ///< MASTERDOWN: a replica that has lost its master
  busy,               ///< BUSY: a script takes too long
  no_script,          ///< NOSCRIPT
  cannot_save,        ///< MISCONF: the server takes no writes because it cannot save them
  aborted,            ///< EXECABORT: a transaction was given up
  too_many_clients,   ///< the server takes no more connections
  connection_lost,    ///< the connection ended before the reply: whether the command was run is not known
  unexpected_reply,   ///< a reply of a type that the command cannot have, or one to no command
  not_shared,       ///< a command that would change the connection for all its users, such as SUBSCRIBE or a lone MULTI
  no_address,       ///< the endpoint is no address
  too_many_hops,    ///< a cluster has sent the command from node to node too often
  no_cluster,       ///< the server is no node of a cluster
  no_transactions,  ///< a MULTI for a cluster, whose nodes would each run a part
  out_of_order,     ///< a cluster has run a command of a batch and not the one before it: the batch is half done
};

/// The category of `redis_errc`; its messages are sentences. Threads: any.
BRAID_API auto redis_category() noexcept -> const std::error_category&;

/// Lets a `redis_errc` stand wherever a std::error_code is wanted.
BRAID_API auto make_error_code(redis_errc code) noexcept -> std::error_code;

/// The code of an error reply, from its text: "WRONGTYPE Operation against…" is wrong_type. Threads: any.
BRAID_API auto redis_error_of(std::string_view text) noexcept -> redis_errc;

namespace detail {

/// Where a cluster says that a slot is.
struct redis_redirection {
  std::uint16_t slot = 0;
  std::string_view host;  ///< empty: the node that said so
  std::uint16_t port = 0;
};

/// What an error of the kind `MOVED 3999 127.0.0.1:6381` or `ASK …` says; nothing where it is malformed or another
/// kind. Threads: any. Lifetime: of the text.
BRAID_API auto redis_redirection_of(std::string_view text) noexcept -> std::optional<redis_redirection>;

}  // namespace detail

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::redis_errc> : std::true_type {};
