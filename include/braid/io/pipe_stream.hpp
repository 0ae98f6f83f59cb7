// braid/io/pipe_stream.hpp: one end of a pipe, or a terminal.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/io/descriptor.hpp>
#include <braid/io/loop.hpp>

#include <utility>

namespace braid {

/// Reads or writes, as its end does. Cost: a write to a pipe takes three system calls more than one to a socket, which
/// keep SIGPIPE away.
class BRAID_API pipe_stream : public byte_stream {
 public:
  pipe_stream() = default;

  /// Takes a descriptor over, and makes it non-blocking. Errors: operation_not_permitted for a regular file, which has
  /// no readiness to wait for; the system's.
  [[nodiscard]] static auto adopt(loop& on, descriptor end) -> result<pipe_stream>;

  /// The end that reads, and the one that writes. Errors: the system's.
  [[nodiscard]] static auto pair(loop& on) -> result<std::pair<pipe_stream, pipe_stream>>;

 private:
  pipe_stream(loop& on, descriptor end) : byte_stream(on, std::move(end), detail::io_registration::kind::other) {}
};

}  // namespace braid
