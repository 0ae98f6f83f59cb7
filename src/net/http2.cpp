// src/net/http2.cpp: reads and writes the bytes of an HTTP/2 connection, over a plain socket or TLS.
#include "http2.hpp"

#include "http2_connection.hpp"

#include <braid/base/detail/after.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <utility>

namespace braid::detail {

auto guess_http2(std::string_view input) noexcept -> http2_guess {
  const std::size_t size = std::min(input.size(), http2_preface.size());
  if (input.empty() || input.substr(0, size) != http2_preface.substr(0, size)) return http2_guess::no;
  return size == http2_preface.size() ? http2_guess::yes : http2_guess::more;
}

#if defined(BRAID_NGHTTP2)

namespace {

template <transport Stream>
class http2_connection_over final : public http2_connection {
 public:
  http2_connection_over(http_service& service, const Stream& stream)
      : http2_connection(service, socket_of(stream)), stream_(&stream) {}

  auto run(std::string received) -> task<void> {
    auto body = [&](scope& scope) -> task<void> {
      scope.spawn(write_all());
      auto reading = read_all(scope, std::move(received));
      co_await std::move(reading);
      input_ends();
    };
    auto running = with_scope(std::ref(body));
    co_await std::move(running);
    if (is_broken_) co_return;
    cut_after(service_->options.linger_timeout);
    auto ending = drop_input(*stream_);
    co_await std::move(ending);
  }

 private:
  auto read_all(scope& scope, std::string received) -> task<void> {
    std::vector<std::byte> room(http2_read_size);
    if (!received.empty() && !parse(received)) co_return;
    start_ready(scope);
    for (;;) {
      if (std::exchange(is_paced_, false)) {
        const time_point answered = service_->on.now();
        if (service_->pacer.charge(answered - now_, answered)) {
          auto waiting = wait_for_pacer(answered);
          co_await std::move(waiting);
        }
      }
      rest();
      const result<std::size_t> got = co_await stream_->read_some(room);
      read_ended();
      if (!got && got.error() == std::errc::operation_canceled) {
        if (continues_to_read()) continue;
        co_return;
      }
      if (!got && got.error() != tls_errc::truncated) {
        is_broken_ = true;
        lose_streams();
      }
      if (!got || *got == 0) co_return;
      const bool continues = parse({reinterpret_cast<const char*>(room.data()), *got});
      start_ready(scope);
      if (!continues) co_return;
      co_await yield();
    }
  }

  auto wait_for_pacer(time_point since) -> task<void> {
    if (is_linked()) unlink();
    http_pacer::waiter mine(service_->pacer, since);
    co_await mine.comes;
    now_ = service_->on.now();
  }

  auto write_all() -> task<void> {
    while (!is_broken_) {
      collect_output();
      if (!output_.empty()) {
        wait_for_write();
        const result<void> sent = co_await stream_->write_all(bytes_of(output_));
        stop_waiting_for_write();
        if (!sent) {
          is_broken_ = true;
          static_cast<void>(socket().shutdown(stream_socket::side::both));
          lose_streams();
        }
        continue;
      }
      check_end();
      if (is_reading_over_ && running_ == 0) co_return;
      auto waiting = output_waits_.until(time_point::max());
      static_cast<void>(co_await std::move(waiting));
    }
  }

  const Stream* stream_;
};

template <transport Stream>
auto serve_over(http_service& service, Stream stream, std::string received) -> task<void> {
  http2_connection_over<Stream> connection(service, stream);
  try {
    auto running = connection.run(std::move(received));
    co_await std::move(running);
  } catch (...) {
    reset_on_close(connection.socket());
    service.report(std::current_exception());  // other connections continue
  }
}

}  // namespace

auto speaks_http2(const http_service& service) -> bool {
  return service.options.http2.enabled && http_server::has_http2();
}

auto serve_http2(http_service& service, stream_socket stream, std::string received) -> task<void> {
  return serve_over(service, std::move(stream), std::move(received));
}

auto serve_http2(http_service& service, tls_stream stream, std::string received) -> task<void> {
  return serve_over(service, std::move(stream), std::move(received));
}

#else

auto speaks_http2(const http_service& /*service*/) -> bool { return false; }

auto serve_http2(http_service& /*service*/, stream_socket /*stream*/, std::string /*received*/) -> task<void> {
  co_return;
}

auto serve_http2(http_service& /*service*/, tls_stream /*stream*/, std::string /*received*/) -> task<void> {
  co_return;
}

#endif

}  // namespace braid::detail

auto braid::http_server::has_http2() -> bool {
#if defined(BRAID_NGHTTP2)
  return detail::find_nghttp2() != nullptr;
#else
  return false;
#endif
}
