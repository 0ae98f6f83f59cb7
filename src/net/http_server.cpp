// src/net/http_server.cpp: taking connections, and stopping without losing requests.
#include <braid/net/http_server.hpp>

#include "http_connection.hpp"

#include <braid/base/assert.hpp>
#include <braid/coro/async_semaphore.hpp>
#include <braid/coro/detail/after.hpp>
#include <braid/coro/event.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <functional>
#include <optional>
#include <utility>

namespace braid {
namespace {

/// Connections that the kernel has taken before a stop are looked for so long, and so many of them.
constexpr auto last_look = 1ms;
constexpr int most_last_looks = 4096;
/// Where an error of this process, such as want of memory, keeps it from accepting.
constexpr auto pause_after_error = 10ms;

}  // namespace

class http_server::state : public detail::http_service {
 public:
  state(loop& l, const http_router& r, http_server_options o)
      : http_service(l, r, std::move(o)), room_(options.connections) {}

  auto serve(stream_listener listener) -> task<result<void>>;
  auto stop(duration grace) -> task<void>;

 private:
  enum class phase : std::uint8_t { idle, serving, over };

  struct cut_timer : timer {
    explicit cut_timer(state& s) noexcept : timer(&fired), owner(&s) {}
    static void fired(timer& self) noexcept {
      state& late = *static_cast<cut_timer&>(self).owner;
      if (late.all_ != nullptr) late.all_->request_stop();
    }
    state* owner;
  };

  /// Says that it is over, also where `serve` itself is stopped.
  struct whole_course {
    explicit whole_course(state& s) noexcept : of(&s) {}
    whole_course(const whole_course&) = delete;
    auto operator=(const whole_course&) -> whole_course& = delete;
    ~whole_course() {
      of->accepting_ = of->all_ = nullptr;
      of->next_.reset();
      of->on.disarm(of->cut_);
      of->phase_ = phase::over;
      of->over_.set();
    }
    state* of;
  };

  void begin_stop(time_point cut_at) noexcept;
  auto accept_until_stop(stream_listener& listener, scope& all) -> task<result<void>>;
  auto accept_all(stream_listener& listener, scope& all) -> task<result<void>>;
  auto start_next(scope& all) -> task<void>;
  auto accept_last(stream_listener& listener, scope& all) -> task<void>;
  auto serve_one(stream_socket socket, async_semaphore::permit place) -> task<void>;

  async_semaphore room_;
  std::optional<stream_socket> next_;  // accepted, and not served yet
  phase phase_ = phase::idle;
  scope* accepting_ = nullptr;  // of the task that accepts
  scope* all_ = nullptr;        // of the connections
  cut_timer cut_{*this};
  event over_;
};

auto http_server::state::serve(stream_listener listener) -> task<result<void>> {
  BRAID_EXPECTS(phase_ == phase::idle, "a server serves once");
  phase_ = phase::serving;
  const whole_course course(*this);
  if (stopping) co_return result<void>();
  result<void> accepted;
  auto body = [&](scope& all) -> task<void> {
    all_ = &all;
    accepted = co_await accept_until_stop(listener, all);
    if (!stopping) begin_stop(time_point::max());
    co_await accept_last(listener, all);
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
    task<result<void>> accepts = with_scope(std::ref(body));
    outcome<result<void>> ended = co_await as_outcome(std::move(accepts));
    accepting_ = nullptr;
    if (ended.has_value()) co_return ended.take();
    if (ended.is_stopped()) break;
    report(ended.exception());
    co_await sleep_for(pause_after_error);
  }
  co_return result<void>();
}

auto http_server::state::accept_all(stream_listener& listener, scope& all) -> task<result<void>> {
  for (;;) {
    result<stream_socket> got = co_await listener.accept();
    if (!got) co_return fail(got.error());
    next_ = std::move(*got);  // stays there where the task is stopped before there is room
    co_await start_next(all);
  }
}

/// Serves the connection that was accepted, once there is room. Who has been idle longest makes some.
auto http_server::state::start_next(scope& all) -> task<void> {
  auto place = room_.try_acquire();
  if (!place) {
    wants_room = true;
    if (!idle.empty()) idle.front().close_idle();
    place = co_await room_.acquire();
    wants_room = false;
  }
  stream_socket socket = std::move(*next_);
  next_.reset();
  all.spawn(serve_one(std::move(socket), std::move(*place)));
}

/// Who was connected before the stop may have sent a request.
auto http_server::state::accept_last(stream_listener& listener, scope& all) -> task<void> {
  if (next_) co_await start_next(all);
  for (int left = most_last_looks; left > 0; --left) {
    task<result<stream_socket>> accepts = listener.accept();
    task<result<result<stream_socket>>> limited = with_timeout(last_look, std::move(accepts));
    result<result<stream_socket>> got = co_await std::move(limited);
    if (!got || !*got) co_return;
    next_ = std::move(**got);
    co_await start_next(all);
  }
}

auto http_server::state::serve_one(stream_socket socket, async_semaphore::permit place) -> task<void> {
  const async_semaphore::permit held(std::move(place));
  ++counts.accepted;
  detail::http_connection connection(*this, std::move(socket));
  const outcome<void> ended = co_await as_outcome(connection.run());
  if (ended.has_exception()) report(ended.exception());  // the others go on
}

void http_server::state::begin_stop(time_point cut_at) noexcept {
  stopping = true;
  if (phase_ == phase::serving && cut_at != time_point::max()) on.arm(cut_, cut_at);
  if (accepting_ != nullptr) accepting_->request_stop();
  while (!idle.empty()) idle.front().close_idle();
}

auto http_server::state::stop(duration grace) -> task<void> {
  if (phase_ != phase::over) begin_stop(detail::after(on.now(), grace));
  if (phase_ == phase::serving) co_await over_;
}

http_server::http_server(loop& on, const http_router& routes, http_server_options options)
    : state_(std::make_unique<state>(on, routes, std::move(options))) {}
http_server::~http_server() = default;

auto http_server::counts() const noexcept -> http_server_counts { return state_->counts; }

auto http_server::serve(stream_listener listener) -> task<result<void>> { return state_->serve(std::move(listener)); }

auto http_server::stop(duration grace) -> task<void> { return state_->stop(grace); }

}  // namespace braid
