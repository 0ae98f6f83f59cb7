// braid/net/http_events.hpp: server-sent events: answers that stay open and send events as they occur.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace braid {

class http_exchange;
class scope;

/// One event, as the EventSource of a browser receives it.
struct http_event {
  std::string_view data;       ///< any text in UTF-8; each of its lines is sent as a separate field
  std::string_view type = {};  ///< the name of the listeners; empty: `message`
  std::string_view id = {};    ///< the id that the client sends when it reconnects; empty: unchanged
  std::optional<std::chrono::milliseconds> retry = {};  ///< how long the client waits before it connects again
};

/// The options of a stream of events.
struct http_events_options {
  duration keep_alive = 15s;  ///< a comment is sent after this time without an event; zero: no comments
};

/// A stream of events that `http_exchange::events` begins.
/// Threads: the thread of the server's loop.
class BRAID_API http_events {
 public:
  http_events(const http_events&) = delete;
  auto operator=(const http_events&) -> http_events& = delete;

  /// Sends an event, and waits until there is room for the next one. Several tasks may send; they take turns. Errors:
  /// errc::invalid_argument if the type or the id contains a line end, or if the id contains a NUL; in this case
  /// nothing is sent. System errors if the client is disconnected or too slow; in this case the tasks of the stream are
  /// also stopped.
  [[nodiscard]] auto send(http_event event) -> task<result<void>>;

  /// Returns the id of the last event that the client has received over an earlier connection. Returns an empty string
  /// if the client sent no such id.
  [[nodiscard]] auto last_id() const noexcept -> std::string_view;

 private:
  friend class http_exchange;
  http_events(http_exchange& exchange, http_events_options options) noexcept
      : exchange_(&exchange), options_(options) {}

  auto write(std::string_view text) -> task<result<void>>;
  auto keep_alive() -> task<void>;
  auto stop() -> task<void>;

  http_exchange* exchange_;
  http_events_options options_;
  scope* around_ = nullptr;  // the scope of the tasks of the stream
  async_mutex lock_;         // held during each write
  time_point last_;          // the time of the last event or comment
  result<void> sent_;        // the failure that has ended the stream
};

}  // namespace braid
