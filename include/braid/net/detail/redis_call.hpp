// braid/net/detail/redis_call.hpp: the awaiters that wait for the reply to a Redis command.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/net/detail/byte_buffer.hpp>
#include <braid/net/detail/redis_request.hpp>
#include <braid/net/detail/redis_shared_connection.hpp>
#include <braid/net/resp.hpp>

#include <concepts>
#include <coroutine>
#include <cstdint>

namespace braid::detail {

/// The base class of all awaiters that wait for the replies to a Redis request.
class redis_wait : public awaiter_base, protected redis_request {
 public:
  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }

  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return transfer_to(suspend(self.promise(), place));
  }

 protected:
  redis_wait(redis_shared_connection& connection, const kind& call, arena* replies_in, std::uint32_t count,
             duration limit) noexcept
      : awaiter_base(operations), redis_request(call, replies_in, count, limit), connection_(&connection) {}
  ~redis_wait() { BRAID_ASSERT(link == nullptr, "a request must have ended when it is destroyed"); }

  static void end(redis_request& self, redis_end end) noexcept {
    auto& waiting = static_cast<redis_wait&>(self);
    end == redis_end::now ? waiting.complete() : waiting.complete_later();
  }

 private:
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    auto& waiting = static_cast<redis_wait&>(self);
    BRAID_EXPECTS(waiting.connection_->is_at_home(), "a connection may only be used by tasks of its own loop");
    if (!waiting.error && waiting.missing > 0) {
      waiting.error = waiting.connection_->submit(waiting);
      if (!waiting.error) return {};
    }
    return waiting.not_started();
  }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal {
    auto& waiting = static_cast<redis_wait&>(self);
    waiting.connection_->withdraw(waiting);
    return withdrawal::done;
  }
  static constexpr operation operations{&start, &withdraw, "Redis reply"};

  redis_shared_connection* connection_;
};

/// The awaiter of one command. `Command` encodes the command and reads its reply.
template <typename Command>
class [[nodiscard, gnu::warn_unused]] redis_call final : public redis_wait {
 public:
  redis_call(redis_shared_connection& connection, Command command, arena* replies_in, duration limit) noexcept
      : redis_wait(connection, options_, replies_in, 1, limit), command_(command) {
    replies = &reply_;
    error = command_.fault();
  }

  auto await_resume() -> result<typename Command::value_type> {
    if (error) return fail(error);
    return Command::read(reply_);
  }

 private:
  static auto encode(redis_request& self, byte_buffer& out, std::uint32_t /*most*/) -> std::uint32_t {
    static_cast<redis_call&>(self).command_.encode(out);
    return 1;
  }
  static constexpr kind options_{.encode = &encode,
                                 .over = &redis_wait::end,
                                 .types = Command::types,
                                 .is_read = Command::is_read,
                                 .is_write = !Command::is_read,
                                 .is_simple = Command::is_simple,
                                 .is_whole = false};

  Command command_;
  resp_value reply_;
};

}  // namespace braid::detail
