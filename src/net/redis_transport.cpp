// src/net/redis_transport.cpp: connects to a server, and runs the two tasks that read from and write to the socket.
#include <braid/net/detail/redis_transport.hpp>

#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/net/detail/redis_shared_connection.hpp>
#include <braid/net/redis_options.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reasons for these values.
constexpr std::size_t read_size = 64U << 10U;
constexpr int full_reads_in_succession = 4;

/// A guard that stores a pointer to the scope of the running tasks, and clears the pointer when the tasks end.
class scoped_scope {
 public:
  scoped_scope(scope*& place, scope& around) noexcept : place_(&place) { *place_ = &around; }
  scoped_scope(const scoped_scope&) = delete;
  auto operator=(const scoped_scope&) -> scoped_scope& = delete;
  ~scoped_scope() { *place_ = nullptr; }

 private:
  scope** place_;
};

}  // namespace

/// The event that wakes the writing task. The call that sets the event runs the writing task at once, until this task
/// waits for the event again or for the socket.
class redis_transport::wake_event final : public awaiter_base {
 public:
  explicit wake_event(redis_transport& transport) noexcept : awaiter_base(operations), transport_(&transport) {}

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> self, await_place place = await_place::current()) noexcept
      -> transfer {
    return transfer_to(suspend(self.promise(), place));
  }
  void await_resume() const noexcept {}

  void ring() noexcept { complete(); }

 private:
  static auto start(awaiter_base& self) noexcept -> std::coroutine_handle<> {
    auto& waiting = static_cast<wake_event&>(self);
    waiting.transport_->idle_writer_ = &waiting;
    return {};
  }
  static auto withdraw(awaiter_base& self) noexcept -> withdrawal {
    static_cast<wake_event&>(self).transport_->idle_writer_ = nullptr;
    return withdrawal::done;
  }
  static constexpr operation operations{&start, &withdraw, "work for a Redis connection"};

  redis_transport* transport_;
};

auto redis_transport::run(std::shared_ptr<redis_transport> self) -> task<void> {
  try {
    auto body = [&self](scope& scope) -> task<void> { return self->work(scope); };
    auto all = with_scope(std::ref(body));
    co_await std::move(all);
    co_return;
  } catch (const std::bad_alloc&) {  // handled below, because no waiter may be notified during a failure
  }
  if (self->owner_ != nullptr) self->owner_->broke(std::make_error_code(std::errc::not_enough_memory));
}

auto redis_transport::work(scope& scope) -> task<void> {
  const scoped_scope known(around_, scope);
  auto dialling = dial();
  const result<void> dialled = co_await std::move(dialling);
  if (owner_ == nullptr) co_return;
  if (!dialled) co_return owner_->broke(dialled.error());
  is_open_ = true;
  auto talking = std::holds_alternative<tls_stream>(stream_) ? talk(std::get<tls_stream>(stream_), scope)
                                                             : talk(std::get<stream_socket>(stream_), scope);
  co_await std::move(talking);
}

// The functions below connect to the server.

auto redis_transport::dial() -> task<result<void>> {
  auto connecting = connect();
  result<stream_socket> made = co_await std::move(connecting);
  if (!made) co_return fail(made.error());
  if (!options_.tls) {
    stream_ = std::move(*made);
    co_return result<void>();
  }
  std::string host = options_.server_name.empty() ? options_.host : options_.server_name;
  auto shaking = tls_stream::connect(*options_.tls, std::move(*made), std::move(host));
  result<tls_stream> shaken = co_await std::move(shaking);
  if (!shaken) co_return fail(shaken.error());
  stream_ = std::move(*shaken);
  co_return result<void>();
}

auto redis_transport::connect() -> task<result<stream_socket>> {
  const bool is_file = !options_.socket_path.empty();
  const auto to =
      is_file ? socket_address::unix_file(options_.socket_path) : socket_address::ip(options_.host, options_.port);
  if (to) {
    auto connecting = stream_socket::connect(*loop_, *to);
    co_return co_await std::move(connecting);
  }
  if (is_file || options_.names == nullptr) co_return fail(redis_errc::no_address);
  auto resolving = options_.names->resolve(options_.host, options_.port);
  result<socket_address::list> found = co_await std::move(resolving);
  if (!found) co_return fail(found.error());
  auto connecting = stream_socket::connect_to_first(*loop_, std::move(*found));
  co_return co_await std::move(connecting);
}

// The functions below read from and write to the socket.

template <transport Stream>
auto redis_transport::talk(const Stream& stream, scope& scope) -> task<void> {
  scope.spawn(write_all(stream));
  owner_->connected();
  if (owner_ == nullptr) co_return;
  auto reading = read_all(stream);
  co_await std::move(reading);
}

template <transport Stream>
auto redis_transport::read_all(const Stream& stream) -> task<void> {
  for (int full = 0;;) {
    char* const room = received_.room(read_size);
    const result<std::size_t> got = co_await stream.read_some(std::as_writable_bytes(std::span(room, read_size)));
    if (owner_ == nullptr) co_return;
    if (!got) co_return owner_->broke(got.error());
    if (*got == 0) co_return owner_->broke(redis_errc::connection_lost);
    received_.added(*got);
    owner_->read_ready();
    if (owner_ == nullptr) co_return;
    full = *got == read_size ? full + 1 : 0;
    if (full < full_reads_in_succession) continue;
    full = 0;
    co_await yield();
  }
}

template <transport Stream>
auto redis_transport::write_all(const Stream& stream) -> task<void> {
  for (;;) {  // checks before it waits: work from before its first step causes no wake-up
    while (owner_ != nullptr && owner_->take_encoded(sending_)) {
      const result<void> sent = co_await stream.write_all(bytes_of(sending_.bytes()));
      sending_.clear();
      if (owner_ == nullptr) co_return;
      if (!sent) co_return owner_->broke(sent.error());
    }
    co_await wake_event(*this);
  }
}

void redis_transport::send() noexcept {
  if (wake_event* const idle = std::exchange(idle_writer_, nullptr)) idle->ring();
}

void redis_transport::give_up() noexcept {
  owner_ = nullptr;
  if (is_open_) {
    const auto* const secure = std::get_if<tls_stream>(&stream_);
    // The close notice of TLS is not sent in the middle of a write, so that the server can see that the write was cut.
    if (secure != nullptr && idle_writer_ != nullptr) static_cast<void>(secure->try_shutdown());
    std::visit([](const auto& open) { static_cast<void>(socket_of(open).shutdown(stream_socket::side::both)); },
               stream_);
  }
  if (around_ != nullptr) around_->request_stop();
}

}  // namespace braid::detail
