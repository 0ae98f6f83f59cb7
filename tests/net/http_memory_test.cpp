// tests/net/http_memory_test.cpp: whichever allocation fails for one connection, the server and the others go on.
#include <braid/net/http_server.hpp>

#include <braid/coro/synchronization.hpp>

#include <tests/support/connections.hpp>
#include <tests/support/http_scene.hpp>
#include <tests/support/raw_tls.hpp>
#include <tests/support/scarce_memory.hpp>
#include <tests/support/spare_frames.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <sys/socket.h>

using namespace braid;
using testing::failures;
using testing::http_scene;
using testing::is_shortage;
using testing::no_spare_frames;
using testing::scarce_memory;
using testing::scarcity;
using testing::survives;

namespace {

constexpr std::string_view get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A plain handler, one that reads, one that writes in pieces, and one that waits.
struct memory_routes {
  memory_routes() {
    routes.get("/", [](http_exchange& x) { x.reply(http_status::ok, "text/plain", "hello"); });
    routes.post("/", [](http_exchange& x) -> task<void> {
      const result<std::string> body = co_await x.read_all();
      if (body) x.reply(http_status::ok, "text/plain", *body);
    });
    routes.get("/pieces", [](http_exchange& x) -> task<void> {
      x.begin(http_status::ok);
      for (const std::string_view piece : {"one ", "two ", "three"}) static_cast<void>(co_await x.write(piece));
    });
    routes.get("/wait", [this](http_exchange& x) -> task<void> {
      ++begun;
      co_await go_on;
      x.reply(http_status::ok, "text/plain", "at last");
    });
  }
  http_router routes;
  event go_on;
  int begun = 0;
};

/// A client with a thread and no memory of its own, plain or by TLS. It asks for four things and listens to the end.
class visitor {
 public:
  explicit visitor(socket_address to)
      : socket_(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)), thread_([this, to] { visit(to); }) {}
  visitor(const visitor&) = delete;
  auto operator=(const visitor&) -> visitor& = delete;
  ~visitor() {
    begin();
    ::shutdown(socket_.number(), SHUT_RDWR);  // should the case have failed, nobody answers
    thread_.join();
  }

  /// From now on there is somebody to be accepted.
  void begin() { begins_.store(true); }
  [[nodiscard]] auto is_done() const -> bool { return done_.load(); }
  /// Once it is done: what it heard, and whether the end was one that nobody can take for a fault.
  [[nodiscard]] auto heard() const -> std::string_view { return {heard_.data(), size_}; }
  [[nodiscard]] auto ended_well() const -> bool { return ended_well_; }

 private:
  static constexpr std::string_view asks =
      "GET / HTTP/1.1\r\nHost: a\r\n\r\nPOST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n"
      "GET /nobody HTTP/1.1\r\nHost: a\r\n\r\nGET /pieces HTTP/1.0\r\n\r\n";

  void visit(const socket_address& to) {
    begins_.wait(false);
    if (::connect(socket_.number(), to.data(), to.size()) == 0) {
      if (testing::tests_tls())
        talk_tls();
      else
        talk();
    }
    ::shutdown(socket_.number(), SHUT_RDWR);
    done_.store(true);
  }

  void talk() {
    ::send(socket_.number(), asks.data(), asks.size(), MSG_NOSIGNAL);
    for (;;) {
      const auto got = ::recv(socket_.number(), heard_.data() + size_, heard_.size() - size_, 0);
      ended_well_ = got == 0;
      if (got <= 0) return;
      size_ += static_cast<std::size_t>(got);
    }
  }

  void talk_tls() {
    static const testing::raw_context context(testing::raw_context::side::client);
    const testing::raw_tls secure(context, socket_.number());
    if (!secure.shake_hands() || !secure.send(asks)) return;
    for (;;) {
      const int got = ::SSL_read(secure.get(), heard_.data() + size_, static_cast<int>(heard_.size() - size_));
      ended_well_ = got <= 0 && ::SSL_get_error(secure.get(), got) == SSL_ERROR_ZERO_RETURN;
      if (got <= 0) return;
      size_ += static_cast<std::size_t>(got);
    }
  }

  descriptor socket_;
  std::array<char, 4096> heard_{};
  std::size_t size_ = 0;
  bool ended_well_ = false;
  struct announced {
    void store(bool value) {
      flag.store(value);
      flag.notify_all();
    }
    void wait(bool old) const { flag.wait(old); }
    std::atomic<bool> flag{false};
  } begins_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace

TEST_CASE("whichever allocation fails for a connection, others and new ones are served") {
  std::signal(SIGPIPE, SIG_IGN);  // the library of the raw peer writes to connections that are gone
  const memory_routes all;
  int reported = 0;
  // The clock goes on while the thread of a guest is held up, however long that is.
  http_scene scene(all.routes, {.idle_timeout = 10h, .on_error = [&](const std::exception_ptr& thrown) {
                                  if (!is_shortage(thrown)) std::terminate();
                                  ++reported;
                                }});
  const auto other = scene.talker();
  int whole = 0;
  for (const scarcity then : {scarcity::one, scarcity::rest}) {
    CAPTURE(then == scarcity::rest);
    for (long n = 0, passed = 0; passed < 3; ++n) {
      CAPTURE(n);
      REQUIRE(n < 5'000);
      visitor guest(scene.address());
      const no_spare_frames cold;
      {
        const scarce_memory scarce(n, then);
        guest.begin();
        int turns = 0;  // with too little memory
        const bool is_over = scene.here.run_until([&] {
          scene.here.advance(100us);
          turns += failures() > 0 ? 1 : 0;
          return guest.is_done() || turns == 300;
        });
        REQUIRE(is_over);
      }
      passed = failures() == 0 ? passed + 1 : 0;
      const bool is_done = scene.here.run_until([&] {
        scene.here.advance(1ms);
        return guest.is_done();
      });
      REQUIRE(is_done);
      if (guest.ended_well() && guest.heard().find("HTTP/1.1 404") != std::string_view::npos) {
        CAPTURE(guest.heard());
        // Its end is all that says that it is whole. A handler that could not begin is answered for.
        const bool has_begun = !guest.heard().ends_with("\r\n\r\nService Unavailable\n");
        if (has_begun) CHECK(guest.heard().ends_with("one two three"));
        whole += has_begun ? 1 : 0;
      }
      REQUIRE_FALSE(scene.is_over());
      other->forget();
      other->say(get);
      REQUIRE(other->hears("hello"));
    }
  }
  CHECK(whole >= 6);
  CHECK((reported > 0 || testing::under_thread_sanitizer));
  CHECK(scene.here.run_until([&] { return scene.server().counts().open == 1; }));
}

TEST_CASE("an answer is sent whole or not at all if its memory is short, also that for trailers that nobody reads") {
  const std::string large(100'000, 'x');
  const std::string_view with_trailers =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nChecksum: of many "
      "bytes\r\n\r\n";
  for (const auto& [then, request] :
       {std::pair(scarcity::one, get), std::pair(scarcity::rest, get), std::pair(scarcity::one, with_trailers),
        std::pair(scarcity::rest, with_trailers)}) {
    CAPTURE(then == scarcity::rest);
    CAPTURE(request);
    for (long n = 0, failed = 1; failed != 0; ++n) {
      CAPTURE(n);
      failed = 0;
      bool is_called = false;
      bool is_whole = false;  // trailers are decoded again if only one allocation failed
      http_router routes;
      routes.add(request == get ? http_method::get : http_method::post, "/", [&](http_exchange& x) {
        const scarce_memory scarce(n, then);
        is_whole = survives([&] { x.reply(http_status::ok, "text/plain", large); });
        failed = failures();
        is_called = true;
        CHECK(x.answered() == is_whole);
        if (!is_whole) throw std::bad_alloc();
      });
      http_scene scene(routes, {.on_error = [](const std::exception_ptr&) {}});
      const auto asks = scene.talker();
      asks->say(request);
      REQUIRE(scene.here.run_until([&] { return is_called; }));
      REQUIRE(asks->hears(is_whole ? large : "\r\n\r\nService Unavailable\n"));
      CHECK(asks->heard().starts_with(is_whole ? "HTTP/1.1 200" : "HTTP/1.1 503"));
      CHECK((is_whole || failed != 0));
      if (request == get) CHECK(is_whole == (failed == 0));
    }
  }
}

TEST_CASE("a piece of an answer that got no memory can be written again") {
  const std::string_view piece = "a piece that no string holds within itself, and that is copied into the output";
  long whole = 0;
  for (const bool is_chunked : {true, false}) {
    for (long n = 0, failed = 1; failed != 0; ++n) {
      CAPTURE(n);
      bool is_whole = true;
      http_router routes;
      routes.get("/", [&](http_exchange& x) -> task<void> {
        if (is_chunked)
          x.begin(http_status::ok);
        else
          x.begin(http_status::ok, {}, piece.size());
        bool is_written = false;
        {
          const no_spare_frames cold;
          const scarce_memory scarce(n, scarcity::one);
          try {  // the frame of the write may be what gets no memory
            task<result<void>> write = x.write(piece);
            const outcome<result<void>> first = co_await as_outcome(std::move(write));
            is_written = first.has_value();
          } catch (const std::bad_alloc&) {}
          failed = failures();
        }
        if (!is_written) is_whole = (co_await x.write(piece)).has_value();
      });
      http_scene scene(routes, {.on_error = [](const std::exception_ptr&) {}});
      const auto asks = scene.talker();
      asks->say(get);
      const std::string_view last = is_chunked ? std::string_view("\r\n0\r\n\r\n") : piece;
      if (!asks->hears(last)) {  // a transport that had taken the piece failed, so the answer is cut
        CHECK_FALSE(is_whole);
        REQUIRE(asks->hears_end());
        continue;
      }
      ++whole;
      CHECK(is_whole);
      const std::string body = asks->heard().substr(asks->heard().find("\r\n\r\n") + 4);
      CHECK(body == (is_chunked ? "4e\r\n" + std::string(piece) + "\r\n0\r\n\r\n" : std::string(piece)));
    }
  }
  CHECK((whole >= 4 || testing::under_thread_sanitizer));
}

TEST_CASE("trailers that got no memory are decoded by the next call, with nothing lost or read twice") {
  const std::string_view body = "5\r\nhello\r\n0\r\nFirst: one of many bytes\r\nSecond: another\r\n\r\n";
  const std::string input = std::string(body) + "GET / HTTP/1.1\r\n";
  for (const std::size_t cut : {body.size(), body.size() - 20}) {  // the second one splits the trailers
    for (long n = 0, failed = 1; failed != 0; ++n) {
      CAPTURE(cut);
      CAPTURE(n);
      detail::http_body_decoder decoder;
      decoder.start({http_framing::kind::chunked, 0});
      std::string data;
      std::size_t at = 0;
      failed = 0;
      for (const std::size_t end : {cut, input.size()}) {
        while (at < end && !decoder.finished()) {
          const scarce_memory scarce(failed == 0 ? n : 1'000, scarcity::one);
          survives([&] {
            const auto piece = decoder.next(std::string_view(input).substr(at, end - at));
            at += piece.value().consumed;
            data += piece->data;
          });
          failed += failures();
        }
      }
      CHECK(decoder.finished());
      CHECK(at == body.size());
      CHECK(data == "hello");
      CHECK(decoder.trailers().find("First") == "one of many bytes");
      CHECK(decoder.trailers().find("Second") == "another");
    }
  }
}

TEST_CASE("whichever allocation fails while a server stops, what has begun is answered") {
  long hit = 0;
  for (long n = 0, passed = 0; passed < 3; ++n) {
    CAPTURE(n);
    REQUIRE(n < 1'000);
    memory_routes all;
    http_scene scene(all.routes, {.on_error = [](const std::exception_ptr&) {}});
    const auto busy = scene.talker();
    busy->say("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    REQUIRE(scene.here.run_until([&] { return all.begun == 1; }));
    const auto unseen = testing::plain_peer::connected_to(scene.address());
    {
      const no_spare_frames cold;
      const scarce_memory scarce(n, scarcity::one);
      survives([&] { scene.stop(10s); });
      scene.here.advance(2ms);
      scene.here.run_once(30);
    }
    hit += failures();
    passed = failures() == 0 ? passed + 1 : 0;
    scene.stop(10s);  // unless there was no memory to ask for that
    scene.here.advance(2ms);
    CHECK_FALSE(scene.is_over());
    all.go_on.set();
    REQUIRE(busy->hears_end());
    CHECK(busy->heard().ends_with("at last"));
    scene.here.advance(3s);  // a connection that says nothing shakes hands for so long
    CHECK(scene.here.run_until([&] { return scene.is_over(); }));
  }
  CHECK((hit > 0 || testing::under_thread_sanitizer));
}
