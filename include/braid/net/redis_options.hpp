// braid/net/redis_options.hpp: where a Redis server is, how to greet it, and how much to ask of it at a time.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/io/resolver.hpp>
#include <braid/io/tls_context.hpp>
#include <braid/net/detail/resp_parser.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace braid {

/// The version of Redis' protocol that a connection speaks.
enum class redis_protocol : std::uint8_t {
  resp2,  ///< what every server speaks
  resp3,  ///< by HELLO 3; a server before 6.0 refuses it
};

/// Whether a read that is the same as one of the same iteration of the loop is sent a second time.
enum class redis_repeats : std::uint8_t {
  sent,    ///< every command is sent
  shared,  ///< identical reads of an iteration are sent once, and each caller gets a copy; a write in between ends
           ///< that. Batches, and what a cluster is asked, are always sent.
};

/// How long to wait between attempts to connect: `first`, then twice as long each time, up to `max_delay`; of that,
/// half and a random part of the other half.
struct redis_backoff {
  duration first = std::chrono::milliseconds(10);
  duration max_delay = std::chrono::milliseconds(500);
  std::uint64_t seed = 0;  ///< of the random part; 0: another one for each connection
};

/// Where a server is, how a connection greets it, and the limits of a connection.
struct redis_options {
  std::string host = "127.0.0.1";  ///< an address, IPv4 or IPv6; or a name where there is a resolver
  std::uint16_t port = 6379;
  std::string socket_path = {};  ///< of a Unix socket, which is taken instead where it is not empty
  /// Asked for the addresses of a name. Lifetime: that of the loop, or until each attempt to connect has ended.
  resolver* names = nullptr;

  /// The context of a client, for a connection by TLS; nothing for a plain one. What it says of verification holds.
  std::optional<tls_context> tls = {};
  std::string server_name = {};  ///< the name in the server's certificate; empty: the host

  std::string user = {};      ///< with a password; empty for the server's default user
  std::string password = {};  ///< empty for none
  std::uint32_t database = 0;
  redis_protocol protocol = redis_protocol::resp2;
  bool reads_from_replica = false;  ///< greets with READONLY, so that a replica of a cluster answers reads

  duration connect_timeout = std::chrono::seconds(1);  ///< for the connection and the greeting
  duration request_timeout = std::chrono::seconds(1);  ///< of a command that says none
  duration silence =
      std::chrono::seconds(5);  ///< without a byte while replies are due, after which the connection is given up
  /// The same where the call whose reply is next has ended without it; never more than `silence`.
  duration silence_when_left = std::chrono::milliseconds(750);
  redis_backoff backoff = {};

  std::uint32_t in_flight = 1024;  ///< commands that wait for their replies; further ones wait to be sent
  std::uint32_t queue = 65'536;    ///< calls that wait to be sent; further ones are refused with errc::full
  redis_repeats repeats = redis_repeats::sent;
  detail::resp_limits limits = {};
};

}  // namespace braid
