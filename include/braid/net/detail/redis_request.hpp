// braid/net/detail/redis_request.hpp: a request of one or several commands, from the call until its replies have
// arrived.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/net/detail/byte_buffer.hpp>
#include <braid/net/resp.hpp>

#include <cstdint>
#include <optional>
#include <system_error>

namespace braid::detail {

class redis_shared_connection;

/// A base class with the list links of a request in the queue of requests that wait to be sent.
struct redis_queue_hook : list_hook {};
/// A base class with the list links of a request in the list that is ordered by deadline.
struct redis_due_hook : list_hook {};

/// Selects how the end of a request is reported.
enum class redis_end : std::uint8_t {
  now,    ///< its coroutine may continue at once
  later,  ///< its coroutine is queued, because the connection is in the middle of a step
};

/// A request. It is a member of the object that waits for the replies. From `submit` until `over` is called or
/// `withdraw` has returned, the connection owns the whole request.
struct BRAID_API redis_request : redis_queue_hook, redis_due_hook {
  struct kind {
    /// Appends at most `max_count` commands that were not sent yet. Returns the number of appended commands. Errors:
    /// std::bad_alloc.
    std::uint32_t (*encode)(redis_request& self, byte_buffer& out, std::uint32_t max_count);
    void (*over)(redis_request& self, redis_end end) noexcept;
    std::uint32_t types;  ///< a bit for each type that its replies may have
    bool is_read;         ///< may share the reply of an identical request
    bool is_write;        ///< later reads must see its effect, and share no earlier reply
    bool is_simple;       ///< a single command; its error reply becomes the error of the request
    bool is_whole;        ///< if only a part of it was sent, the connection ends
  };

  redis_request(const kind& encoding, arena* replies_in, std::uint32_t count, duration limit) noexcept
      : how(&encoding), memory(replies_in), unsent(count), missing(count), timeout(limit) {}

  struct own_timer : timer {
    explicit own_timer(redis_request& request) noexcept;
    redis_request* owner;
  };

  const kind* how;
  arena* memory;                            // stores replies; if null, only their types are kept
  std::uint32_t unsent;                     // commands that are not encoded yet
  std::uint32_t missing;                    // replies that have not arrived
  resp_value* replies = nullptr;            // the place of the next reply
  duration timeout;                         // zero: the link's own
  time_point due{};                         // the deadline by the link's own timeout
  redis_shared_connection* link = nullptr;  // set while the request is submitted
  redis_request* same = nullptr;            // the next request that shares the reply
  std::error_code error;
  std::optional<own_timer> deadline;  // set if it has a timeout of its own
};

constexpr auto redis_type_bit(resp_type type) noexcept -> std::uint32_t { return 1U << static_cast<unsigned>(type); }
constexpr std::uint32_t any_redis_type = ~0U;

}  // namespace braid::detail
