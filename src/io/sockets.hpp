// src/io/sockets.hpp: declares system calls that all kinds of sockets need.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/sockets.hpp>

namespace braid::detail {

/// Returns a non-blocking socket that is closed on exec.
auto make_socket(int family, int type) -> result<descriptor>;
auto do_not_block(int number) noexcept -> result<void>;  // and close on exec
auto set_option(int number, int level, int name, int value) noexcept -> result<void>;
auto set_stream_options(int number, int family, const stream_socket::options& options) noexcept -> result<void>;
auto read_local_address(int number) -> result<socket_address>;
auto read_peer_address(int number) -> result<socket_address>;

/// Converts the status of a system call, which is -1 with errno after an error, to a result.
auto checked(int status) noexcept -> result<void>;

}  // namespace braid::detail
