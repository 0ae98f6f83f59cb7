// src/net/http_server.cpp: accepts connections, and stops the server without losing requests.
#include <braid/net/http_server.hpp>

#include "http2.hpp"
#include "http_connection_over.hpp"

#include <braid/base/config.hpp>
#include <braid/base/detail/after.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace braid {
namespace {

/// When the server stops, it still accepts the connections that wait in the kernel. The limits below keep a flood of
/// new connections from delaying the stop. `last_look` limits the wait for each connection. If the kernel reports the
/// number of waiting connections, the server accepts at most that number plus `few_more`. Otherwise it accepts at most
/// `max_last_looks` connections, for at most `max_uncounted_looks`.
constexpr auto last_look = 1ms;
constexpr std::size_t few_more = 16;
constexpr auto max_uncounted_looks = 50ms;
constexpr std::size_t max_last_looks = 4096;
/// The pause after an error, such as a lack of memory in this process, that prevents the server from accepting
/// connections.
constexpr auto pause_after_error = 10ms;

}  // namespace

class http_server::state : public detail::http_service {
 public:
  state(loop& l, const http_router& r, http_server::options o)
      : http_service(l, r, std::move(o)), room_(options.connections) {}

  auto serve(stream_listener listener) -> task<result<void>>;
  auto stop(duration grace) -> task<void>;

  [[nodiscard]] auto is_serving() const noexcept -> bool { return phase_ == phase::serving; }

 private:
  enum class phase : std::uint8_t { idle, serving, over };

  /// A timer that calls a member function of `state` when it fires.
  template <void (state::*Late)() noexcept>
  struct state_timer : timer {
    explicit state_timer(state& s) noexcept : timer(&fired), owner(&s) {}
    static void fired(timer& self) noexcept { (static_cast<state_timer&>(self).owner->*Late)(); }
    state* owner;
  };

  /// A connection during its TLS handshake. `tasks` is the scope in which the task of the handshake runs.
  struct handshake : list_hook {
    handshake(state& s, scope& scope) noexcept : owner(&s), tasks(&scope) {
      detail::add_to_count(owner->counts.handshakes);
      owner->handshakes_.push_back(*this);
    }
    handshake(const handshake&) = delete;
    auto operator=(const handshake&) -> handshake& = delete;
    ~handshake() {
      detail::take_from_count(owner->counts.handshakes);
      if (is_linked()) unlink();
    }
    void give_up() noexcept {
      unlink();
      tasks->request_stop();
    }
    state* owner;
    scope* tasks;
  };

  /// A guard whose destructor marks the server as ended when `serve` ends, even if the task of `serve` is stopped.
  struct whole_course {
    explicit whole_course(state& s) noexcept : owner(&s) {}
    whole_course(const whole_course&) = delete;
    auto operator=(const whole_course&) -> whole_course& = delete;
    ~whole_course() {
      owner->accepting_ = owner->scope_ = nullptr;
      owner->next_.reset();
      owner->on.disarm(owner->cut_);
      owner->on.disarm(owner->hurry_);
      owner->phase_ = phase::over;
      owner->is_over_.set();
    }
    state* owner;
  };

  void begin_stop(time_point cut_at) noexcept;
  auto accept_until_stop(stream_listener& listener, scope& scope) -> task<result<void>>;
  auto accept_all(stream_listener& listener, scope& scope) -> task<result<void>>;
  auto start_next(scope& scope) -> task<void>;
  auto accept_last(stream_listener& listener, scope& scope) -> task<void>;
  void make_room() noexcept;
  void cut_all() noexcept {
    if (scope_ != nullptr) scope_->request_stop();
  }
  void give_up_handshakes() noexcept {
    while (!handshakes_.empty()) handshakes_.front().give_up();
  }
  auto shake_hands(stream_socket socket) -> task<result<tls_stream>>;
  auto serve_tls(stream_socket socket, async_semaphore::permit place) -> task<void>;
  template <transport Stream>
  auto serve_one(Stream stream, async_semaphore::permit place) -> task<void>;

  async_semaphore room_;
  std::optional<stream_socket> next_;  // the accepted connection that is not served yet
  phase phase_ = phase::idle;
  scope* accepting_ = nullptr;            // the scope of the task that accepts
  scope* scope_ = nullptr;                // the scope of the connections
  intrusive_list<handshake> handshakes_;  // oldest first
  state_timer<&state::cut_all> cut_{*this};
  state_timer<&state::give_up_handshakes> hurry_{*this};
  event is_over_;
};

auto http_server::state::serve(stream_listener listener) -> task<result<void>> {
  BRAID_EXPECTS(phase_ == phase::idle, "a server can serve only once");
  phase_ = phase::serving;
  const whole_course course(*this);
  if (stopping) co_return result<void>();
  result<void> accepted;
  auto body = [&](scope& scope) -> task<void> {
    scope_ = &scope;
    scope.bind(this, this);  // so that `stop` can tell whether it is called by a handler
    accepted = co_await accept_until_stop(listener, scope);
    if (!stopping) begin_stop(time_point::max());
    try {
      co_await accept_last(listener, scope);
    } catch (...) {
      report(std::current_exception());  // connections that are being served continue
    }
    next_.reset();
    listener.close();
  };
  co_await with_scope(std::ref(body));
  co_return accepted;
}

auto http_server::state::accept_until_stop(stream_listener& listener, scope& all) -> task<result<void>> {
  while (!stopping) {
    auto body = [&](scope& accepting) -> task<result<void>> {
      accepting_ = &accepting;
      co_return co_await accept_all(listener, all);
    };
    outcome<result<void>> ended;
    try {
      task<result<void>> accepts = with_scope(std::ref(body));
      ended = co_await as_outcome(std::move(accepts));
    } catch (...) {
      ended.set_exception(std::current_exception());  // there was no memory for the task
    }
    accepting_ = nullptr;
    if (stopping || ended.is_stopped()) break;
    if (ended.has_value()) co_return ended.take();
    report(ended.exception());
    co_await sleep_for(pause_after_error);
  }
  co_return result<void>();
}

auto http_server::state::accept_all(stream_listener& listener, scope& scope) -> task<result<void>> {
  for (;;) {
    if (next_) co_await start_next(scope);  // set if an error of this process interrupted an earlier start
    result<stream_socket> got = co_await listener.accept();
    if (!got) co_return fail(got.error());
    next_ = std::move(*got);  // stays there if the task is stopped before there is room
    co_await start_next(scope);
  }
}

/// Closes the connection that has been idle longest. If no connection is idle, ends the oldest handshake.
void http_server::state::make_room() noexcept {
  if (!idle.empty())
    idle.front().close_idle();
  else if (!handshakes_.empty())
    handshakes_.front().give_up();
}

/// Waits until the number of connections permits another one, and then starts a task that serves the accepted
/// connection.
auto http_server::state::start_next(scope& scope) -> task<void> {
  auto place = room_.try_acquire();
  if (!place) {
    wants_room = true;
    make_room();
    place = co_await room_.acquire();
  }
  wants_room = false;
  stream_socket socket = std::move(*next_);
  next_.reset();
  detail::add_to_count(counts.accepted);
  if (options.tls)
    scope.spawn(serve_tls(std::move(socket), std::move(*place)));
  else
    scope.spawn(serve_one(std::move(socket), std::move(*place)));
}

/// Accepts the connections that were waiting when the server was stopped, because the clients of these connections may
/// have sent requests.
auto http_server::state::accept_last(stream_listener& listener, scope& scope) -> task<void> {
  if (next_) co_await start_next(scope);
  const result<std::size_t> waiting = listener.waiting();
  const time_point end = waiting ? time_point::max() : detail::after(on.now(), max_uncounted_looks);
  for (std::size_t left = waiting ? *waiting + few_more : max_last_looks; left > 0 && on.now() < end; --left) {
    task<result<stream_socket>> accepts = listener.accept();
    task<result<stream_socket>> limited = with_timeout(last_look, std::move(accepts));
    result<stream_socket> got = co_await std::move(limited);
    if (!got) co_return;
    next_ = std::move(*got);
    co_await start_next(scope);
  }
}

/// Performs a TLS handshake. Each handshake is a task with a deadline, so that slow clients and other protocols delay
/// no other connection.
auto http_server::state::shake_hands(stream_socket socket) -> task<result<tls_stream>> {
  if (counts.handshakes >= options.handshakes && !handshakes_.empty()) handshakes_.front().give_up();
  auto body = [&](scope& here) -> task<result<tls_stream>> {
    const handshake mine(*this, here);
    auto shaken = tls_stream::accept(*options.tls, std::move(socket));
    co_return co_await std::move(shaken);
  };
  outcome<result<tls_stream>> ended;
  try {
    auto limited = with_timeout(stopping ? options.linger_timeout : options.head_timeout, with_scope(std::ref(body)));
    ended = co_await as_outcome(std::move(limited));
  } catch (...) {
    ended.set_exception(std::current_exception());
  }
  if (ended.has_exception()) report(ended.exception());
  if (!ended.has_value()) co_return fail(errc::stopped);
  co_return ended.take();
}

auto http_server::state::serve_tls(stream_socket socket, async_semaphore::permit place) -> task<void> {
  bool is_open = false;
  try {
    auto shaken = shake_hands(std::move(socket));
    result<tls_stream> stream = co_await std::move(shaken);
    const bool is_http2 = stream && stream->protocol() == "h2" && detail::speaks_http2(*this);
    is_open = stream && (is_http2 || stream->protocol().empty() || stream->protocol() == "http/1.1");
    if (is_open && stream->resumed()) detail::add_to_count(counts.resumed);
    if (is_http2) {
      const async_semaphore::permit held(std::move(place));
      auto served = detail::serve_http2(*this, std::move(*stream), {});
      co_await std::move(served);
    } else if (is_open) {
      auto served = serve_one(std::move(*stream), std::move(place));
      co_await std::move(served);
    }
  } catch (...) {
    report(std::current_exception());  // no memory for a task; an exception that leaves here would end all connections
  }
  if (!is_open) detail::add_to_count(counts.failed_handshakes);
}

template <transport Stream>
auto http_server::state::serve_one(Stream stream, async_semaphore::permit place) -> task<void> {
  const async_semaphore::permit held(std::move(place));
  std::optional<detail::http_connection_over<Stream>> connection(std::in_place, *this, std::move(stream));
  try {
    auto running = connection->run();
    if (!co_await std::move(running)) co_return;
    std::string received = connection->take_received();
    stream = connection->take_stream();
    connection.reset();
    auto served = detail::serve_http2(*this, std::move(stream), std::move(received));
    co_await std::move(served);
  } catch (...) {
    if (connection) connection->break_off();
    report(std::current_exception());  // the other connections continue
  }
}

void http_server::state::begin_stop(time_point cut_at) noexcept {
  stopping = true;
  if (phase_ == phase::serving && cut_at != time_point::max()) on.arm(cut_, cut_at);
  if (phase_ == phase::serving && !handshakes_.empty()) on.arm(hurry_, detail::after(on.now(), options.linger_timeout));
  if (accepting_ != nullptr) accepting_->request_stop();
  pacer.open();
  while (!idle.empty()) idle.front().close_idle();
  while (!busy.empty()) busy.front().retire();
}

auto http_server::state::stop(duration grace) -> task<void> {
  const scope& around = co_await this_scope();
  if (phase_ != phase::over) begin_stop(detail::after(on.now(), grace));
  const bool is_handler = around.bound(this) != nullptr;  // `serve` waits for its end
  if (phase_ == phase::serving && !is_handler) co_await is_over_;
}

http_server::http_server(loop& loop, const http_router& routes, http_server::options options)
    : state_(std::make_unique<state>(loop, routes, std::move(options))) {}
http_server::~http_server() {
  BRAID_EXPECTS(!state_->is_serving(),
                "a server must not be destroyed while it serves: co_await its stop or the end of serve first");
}

void http_server::replace_tls(tls_context context) {
  BRAID_EXPECTS(state_->options.tls.has_value(), "a server without TLS cannot be given a TLS context");
  state_->options.tls = std::move(context);
}

auto http_server::counts() const noexcept -> http_server::totals {
  http_server::totals now = state_->counts;
  now.paced = state_->pacer.waiting();
  return now;
}

auto http_server::serve(stream_listener listener) -> task<result<void>> { return state_->serve(std::move(listener)); }

auto http_server::stop(duration grace) -> task<void> { return state_->stop(grace); }

}  // namespace braid
