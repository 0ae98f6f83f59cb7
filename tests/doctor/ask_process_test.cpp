// tests/doctor/ask_process_test.cpp: what a process may do to one that asks it, and how long that lasts.
#include <doctor/ask_process.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using braid::doctor::ask_process;
using braid::doctor::process_answer;
using braid::doctor::question_limits;
using how = braid::doctor::process_answer::how;
using namespace std::chrono_literals;

namespace {

auto send_text(int client, std::string_view text) -> bool {
  while (!text.empty()) {
    const ::ssize_t sent = ::send(client, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// The socket of this process, as BRAID_TOP=1 opens it. A thread takes one connection and one question, and does there
/// as `act` says.
class own_socket {
 public:
  explicit own_socket(std::function<void(int)> act) : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    ::sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const int length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "braid.%d", ::getpid());
    const auto size =
        static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
    REQUIRE(::bind(listener_, reinterpret_cast<const ::sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener_, 8) == 0);
    thread_ = std::thread([this, act = std::move(act)] {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;  // no connection came until the end of the test
      char asked = 0;
      if (::recv(client, &asked, 1, 0) == 1) question_ = asked;
      act(client);
      ::close(client);
    });
  }
  own_socket(const own_socket&) = delete;
  auto operator=(const own_socket&) -> own_socket& = delete;
  ~own_socket() {
    ::shutdown(listener_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(listener_);
  }

  /// Waits until the thread is done, and returns the question that it got.
  auto question() -> char {
    thread_.join();
    return question_;
  }

 private:
  int listener_;
  char question_ = 0;
  std::thread thread_;
};

auto ask_self(question_limits limits) -> process_answer { return ask_process(::getpid(), 't', limits); }

}  // namespace

TEST_CASE("a whole answer is given without its last line, however it is cut") {
  for (const std::size_t piece : {1U, 3U, 100U}) {
    own_socket self([piece](int client) {
      const std::string all = "loop\n  task 1\n# EOF\n";
      for (std::size_t at = 0; at < all.size(); at += piece) send_text(client, std::string_view(all).substr(at, piece));
    });
    const process_answer given = ask_self({.time = 1h});
    CHECK(given.became == how::answered);
    CHECK(given.text == "loop\n  task 1\n");
    CHECK(self.question() == 't');
  }
}

TEST_CASE("an answer that does not end with its last line is none") {
  for (const std::string_view text : {"", "loop\n", "# EOF", "loop\n# EOF\nmore"}) {
    const own_socket self([text](int client) { send_text(client, text); });
    const process_answer given = ask_self({.time = 1h});
    CHECK(given.became == how::silent);
    CHECK(given.text.empty());
  }
}

TEST_CASE("an answer may have as many bytes as the limit says, and one more is too many") {
  const std::string all = std::string(100'000, 'x') + "\n# EOF\n";
  for (const std::size_t room : {all.size() + 1, all.size(), all.size() - 1}) {
    const own_socket self([&all](int client) { send_text(client, all); });
    const process_answer given = ask_self({.time = 1h, .bytes = room});
    CHECK(given.became == (room >= all.size() ? how::answered : how::too_large));
    CHECK(given.text.size() == (room >= all.size() ? all.size() - 6 : 0));
  }
}

TEST_CASE("a process that sends without end is left as soon as the limit is reached") {
  const own_socket self([](int client) {
    const std::string block(65'536, 'A');
    while (send_text(client, block)) {}  // until the other side has gone
  });
  CHECK(ask_self({.time = 1h, .bytes = 1'000'000}).became == how::too_large);
}

TEST_CASE("the time is that of the whole exchange: a byte now and then does not make it longer") {
  const own_socket self([](int client) {
    constexpr int pause_ms = 1;
    for (int i = 0; i < 2'000; ++i) {
      if (!send_text(client, "x")) return;
      ::pollfd gone{.fd = client, .events = POLLRDHUP, .revents = 0};
      static_cast<void>(::poll(&gone, 1, pause_ms));
    }
    send_text(client, "\n# EOF\n");
  });
  CHECK(ask_self({.time = 50ms}).became == how::silent);
}

TEST_CASE("a process that says nothing is left when the time is over, and without time it is not asked") {
  const own_socket self([](int client) {
    std::array<char, 1> nothing{};
    static_cast<void>(::recv(client, nothing.data(), nothing.size(), 0));  // until the other side has gone
  });
  CHECK(ask_self({.time = 0ms}).became == how::silent);
  CHECK(ask_self({.time = 1ms}).became == how::silent);
}

TEST_CASE("the sentence about an answer that is too large names the process and the limit") {
  CHECK(braid::doctor::too_large_problem(12) == "process 12 sent more than 64 MiB, the maximum size of an answer");
}
