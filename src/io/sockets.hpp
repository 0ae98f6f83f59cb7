// src/io/sockets.hpp: what all kinds of sockets do with the system.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/sockets.hpp>

namespace braid::detail {

/// Returns a socket that does not block and is closed on exec.
auto make_socket(int family, int type) -> result<descriptor>;
auto do_not_block(int number) noexcept -> result<void>;  // and close on exec
auto set_option(int number, int level, int name, int value) noexcept -> result<void>;
auto set_stream_options(int number, int family, const stream_socket::options& options) noexcept -> result<void>;
auto read_local_address(int number) -> result<socket_address>;
auto read_peer_address(int number) -> result<socket_address>;

/// Converts a system call's result: 0 or more, or -1 with errno.
auto checked(int status) noexcept -> result<void>;

}  // namespace braid::detail
