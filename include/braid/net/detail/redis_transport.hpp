// braid/net/detail/redis_transport.hpp: the socket of one connection to a server. Tasks of the loop connect it, read
// from it and write to it.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/detail/byte_buffer.hpp>
#include <braid/net/redis_options.hpp>

#include <memory>
#include <variant>

namespace braid::detail {

class redis_shared_connection;

/// The transport of a connection. Tasks of the loop keep this object alive while the kernel uses its buffers, so it may
/// outlive the connection that uses it. It reports events to that connection until the connection calls `give_up`.
/// Protocol: docs/design/redis.md Threads: the loop's thread.
class redis_transport {
 public:
  redis_transport(redis_shared_connection& owner, loop& loop, const redis_options& options)
      : owner_(&owner), loop_(&loop), options_(options) {}
  redis_transport(const redis_transport&) = delete;
  auto operator=(const redis_transport&) -> redis_transport& = delete;

  /// Connects, reports the result to the connection, and reads and writes until the connection ends or abandons the
  /// transport. This task must be spawned on the loop.
  static auto run(std::shared_ptr<redis_transport> self) -> task<void>;

  /// Sends the bytes that the connection has encoded. If no write is in progress, the bytes are sent at once.
  void send() noexcept;
  /// Returns the bytes that were received and were not consumed yet.
  [[nodiscard]] auto received() noexcept -> byte_buffer& { return received_; }
  /// Abandons the transport: events are no longer reported, and the connection to the server is closed now.
  void give_up() noexcept;

 private:
  class wake_event;

  auto work(scope& scope) -> task<void>;
  auto dial() -> task<result<void>>;
  auto connect() -> task<result<stream_socket>>;
  template <transport Stream>
  auto talk(const Stream& stream, scope& scope) -> task<void>;
  template <transport Stream>
  auto read_all(const Stream& stream) -> task<void>;
  template <transport Stream>
  auto write_all(const Stream& stream) -> task<void>;

  redis_shared_connection* owner_;  // null once the transport is abandoned
  loop* loop_;
  const redis_options options_;
  std::variant<stream_socket, tls_stream> stream_;
  bool is_open_ = false;               // `stream_` is open
  scope* around_ = nullptr;            // the scope of the tasks while they run
  wake_event* idle_writer_ = nullptr;  // wakes the writer, which waits for bytes to send
  byte_buffer received_;               // the kernel may be writing into it
  byte_buffer sending_;                // does not change while it is being sent
};

}  // namespace braid::detail
