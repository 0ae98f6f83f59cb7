// braid/net/detail/redis_shared_connection.hpp: one connection to a Redis server, with its state, its buffers, and its
// requests in flight.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/base/random.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/detail/byte_buffer.hpp>
#include <braid/net/detail/redis_request.hpp>
#include <braid/net/detail/redis_same_reads.hpp>
#include <braid/net/detail/redis_transport.hpp>
#include <braid/net/detail/redis_window.hpp>
#include <braid/net/detail/resp_parser.hpp>
#include <braid/net/redis_options.hpp>
#include <braid/task/job.hpp>
#include <braid/trace/detail/metric_source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

namespace braid {

namespace detail {

/// The counters of a connection since its creation.
struct redis_counts {
  std::uint64_t sent = 0;       ///< commands that were sent
  std::uint64_t answered = 0;   ///< replies for which a task waited
  std::uint64_t dropped = 0;    ///< replies for which no task waited any more
  std::uint64_t shared = 0;     ///< reads that were not sent, because an identical read was sent
  std::uint64_t pushed = 0;     ///< messages that are not replies
  std::uint64_t expired = 0;    ///< calls that got no reply in time
  std::uint64_t refused = 0;    ///< calls that were refused, because too many were waiting
  std::uint64_t connected = 0;  ///< connections whose greeting succeeded
  std::uint64_t lost = 0;       ///< connections that broke or were abandoned
  std::uint64_t failed = 0;     ///< failed attempts to connect
};

/// A connection that many callers share. Protocol, states and proof: docs/design/redis.md.
/// Threads: the loop's thread.
class BRAID_API redis_shared_connection {
 public:
  enum class state : std::uint8_t { connecting, greeting, ready, backing_off, closed };

  redis_shared_connection(loop& loop, redis_options options);
  redis_shared_connection(const redis_shared_connection&) = delete;
  auto operator=(const redis_shared_connection&) -> redis_shared_connection& = delete;
  ~redis_shared_connection();

  /// Accepts a request. The end of the request is reported later, never during this call. If this call returns an
  /// error, the request was not accepted.
  [[nodiscard]] auto submit(redis_request& request) noexcept -> std::error_code;
  /// Withdraws a request, because its caller no longer waits. The end of the request is not reported, and its replies
  /// are dropped.
  void withdraw(redis_request& request) noexcept;
  /// Closes the connection. All requests end with errc::closed. A second call does nothing.
  void close() noexcept;
  /// Disables reconnecting. If no replies are due, closes the connection at once. Otherwise the connection stays open
  /// until it breaks or its owner destroys it. When it closes, requests that were not sent fail with errc::closed.
  void retire() noexcept;

  [[nodiscard]] auto is_at_home() const noexcept -> bool { return loop_->is_current(); }
  [[nodiscard]] auto status() const noexcept -> state { return state_; }
  [[nodiscard]] auto load() const noexcept -> std::size_t { return window_.due() + waiting_count_; }
  [[nodiscard]] auto counts() const noexcept -> const redis_counts& { return counts_; }
  /// Returns how long the connection has been waiting for due replies without receiving a byte. Returns zero if no
  /// replies are due.
  [[nodiscard]] auto silence() const noexcept -> duration {
    return window_.empty() ? duration::zero() : loop_->now() - last_heard_;
  }
  [[nodiscard]] auto last_fault() const noexcept -> const resp_fault& { return parser_.fault(); }
  [[nodiscard]] auto last_error() const noexcept -> std::error_code { return last_error_; }
  /// Returns the message with which the server refused the connection, if the refusal had this error code; otherwise
  /// returns an empty string. If the message contains the password, the password is removed.
  /// Lifetime: the message is valid until the next attempt to connect has ended.
  [[nodiscard]] auto refusal_of(std::error_code error) const noexcept -> std::string_view {
    return error == last_error_ ? std::string_view(refusal_) : std::string_view();
  }

 private:
  friend struct redis_request;
  friend class redis_transport;

  template <void (redis_shared_connection::*Fired)() noexcept>
  struct connection_timer : timer {
    explicit connection_timer(redis_shared_connection& connection) noexcept : timer(&fired), owner(&connection) {}
    static void fired(timer& self) noexcept { (static_cast<connection_timer&>(self).owner->*Fired)(); }
    redis_shared_connection* owner;
  };
  /// A job that the connection posts to the loop. The job may outlive the connection.
  struct flush_job : job {
    explicit flush_job(redis_shared_connection& connection) noexcept : job(&act), owner(&connection) {}
    static void act(job& self, action action);
    redis_shared_connection* owner;  // null if the connection was destroyed; then the job frees itself
    bool is_posted = false;
  };
  enum class next : std::uint8_t { go_on, stop };

  static void add_metrics(const void* self, metric_list& metrics);

  // The functions below connect to the server. src/net/redis_shared_connection_state.cpp defines them.
  void connect() noexcept;
  void connected() noexcept;
  void greet();
  void become_ready() noexcept;
  auto take_greeting(const resp_value& reply) noexcept -> next;
  void attempt_failed(std::error_code error, std::string_view text = {}) noexcept;
  void broke(std::error_code error) noexcept;
  void lose(std::error_code error, std::error_code first = redis_errc::connection_lost,
            std::string_view text = {}) noexcept;
  void turned_away(std::string_view text) noexcept;
  void keep_reason(std::error_code error, std::string_view text) noexcept;
  void hang_up() noexcept;
  [[nodiscard]] auto may_go_on_untracked(redis_errc code) const noexcept -> bool;
  void connect_untracked() noexcept;
  void begin_tracking() noexcept;
  void end_tracking() noexcept;
  void note_changes(const resp_value& pushed) noexcept;
  void check_tracking() noexcept;
  void back_off() noexcept;
  void connect_timed_out() noexcept;
  void fail_waiting(std::error_code error) noexcept;
  void fail_due(std::error_code first_why, std::error_code error) noexcept;
  void fail(redis_request& request, std::error_code error) noexcept;

  // The functions below read and write. src/net/redis_shared_connection.cpp defines them.
  void read_ready() noexcept;
  void read_replies(byte_buffer& buffer);
  void begin_reply(char sign) noexcept;
  auto end_reply() -> next;
  auto read_short_texts(byte_buffer& buffer) -> next;
  auto deliver(const resp_value& reply) -> next;
  auto deliver(redis_request& request, resp_value reply) -> next;
  auto refuse_remaining() noexcept -> next;
  void answer(redis_request& request, resp_value reply) noexcept;
  void answer_all(redis_request* first, const resp_value& reply) noexcept;
  void finish(redis_request& request, redis_end end) noexcept;
  void encode_waiting() noexcept;
  void encode(redis_request& request) noexcept;
  void wait_to_be_sent(redis_request& request) noexcept;
  auto joins_same(redis_request& request, std::size_t begin) noexcept -> bool;
  void flush() noexcept;
  void flush_later() noexcept;
  [[nodiscard]] auto take_encoded(byte_buffer& into) noexcept -> bool;

  // The functions below handle deadlines and timers.
  void set_deadline(redis_request& request) noexcept;
  void request_timed_out(redis_request& request) noexcept;
  void expire() noexcept;
  [[nodiscard]] auto expire_sent(time_point now) noexcept -> time_point;
  [[nodiscard]] auto silence_due() noexcept -> time_point;
  void look_for_silence() noexcept;
  void look_sooner_for_silence() noexcept;
  [[nodiscard]] auto iteration_time() noexcept -> time_point;
  void release(redis_request& request) noexcept;

  loop* loop_;
  redis_options options_;
  std::shared_ptr<redis_transport> transport_;  // null if there is no connection
  resp_parser parser_;
  byte_buffer out_;  // encoded bytes that were not passed to the transport yet
  redis_window window_;
  intrusive_list<redis_request, redis_queue_hook> waiting_;  // requests to be encoded, in order
  intrusive_list<redis_request, redis_due_hook> by_due_;     // waiting requests that use the default timeout
  redis_request* begun_ = nullptr;  // the first of `waiting_`, if a part of it was already encoded
  std::size_t waiting_count_ = 0;
  redis_same_reads same_reads_;
  arena shared_;  // the arena of replies for which no request has an arena, such as those of greetings
  arena pushed_;  // the arena for messages about changed keys
  random_source random_;
  redis_counts counts_;
  std::error_code last_error_;
  std::string refusal_;  // the message of the server about the refusal

  connection_timer<&redis_shared_connection::connect_timed_out> connect_timer_{*this};
  connection_timer<&redis_shared_connection::connect> backoff_timer_{*this};
  connection_timer<&redis_shared_connection::expire> due_timer_{*this};
  connection_timer<&redis_shared_connection::look_for_silence> silence_timer_{*this};
  connection_timer<&redis_shared_connection::check_tracking> tracking_timer_{*this};
  flush_job* flush_;

  time_point now_{};                        // the time of this iteration, while it is known
  time_point due_{};                        // the deadline of new requests, by the link's own timeout
  time_point last_heard_{};                 // when bytes last arrived, or replies became due again
  time_point doubted_ = time_point::max();  // the value of `last_heard_` for which silence was found too long once
  bool is_retired_ = false;
  bool is_untracked_ = false;     // this attempt requests no tracking, because the server has refused it
  bool has_tracker_ = false;      // the tracker was informed about this connection
  std::uint32_t failures_ = 0;    // attempts in a row
  std::uint32_t greetings_ = 0;   // replies to the greeting that have not arrived
  bool has_answered_ = false;     // a reply has arrived: a server that accepts no connections sends its refusal first
  std::uint32_t generation_ = 0;  // the number of connections so far; a change shows that there is a new one
  std::uint32_t at_once_ = 0;     // the number of tasks that may still be resumed in this iteration
  state state_ = state::backing_off;
  bool now_known_ = false;
  bool in_iteration_ = false;  // bytes are being read: encoded commands are sent at the end
  enum class reply_slot : std::uint8_t {
    none,    // no reply has begun
    own,     // the arena of the request at the front of the window; dropped if no task waits
    shared,  // `shared_`
    push,    // `pushed_` if changes are tracked, otherwise dropped: it is not a reply
  } reply_ = reply_slot::none;
  bool* gone_ = nullptr;  // set to true if this object is destroyed during a read
  metric_source counted_{loop_, &redis_shared_connection::add_metrics,
                         this};  // the last member, because it reads the others
};

}  // namespace detail
}  // namespace braid
