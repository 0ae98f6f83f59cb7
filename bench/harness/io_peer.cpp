// bench/harness/io_peer.cpp: the other end of latency/io_under_load, and the same for all contenders: it sends a
// message of 64 bytes each so many microseconds, to one connection after the other, whether answers have come or not,
// and measures how long each answer takes. Prints, on one line: messages, answers, wrong ones; median, p99, p99.9 and
// the longest time in microseconds; and 1 where it ran before all threads of others.
//
// It stands for another machine: what it needs of a processor it gets at once, where the system allows that.
#include <bench/harness/moment.hpp>
#include <bench/harness/percentiles.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using bench::now_ns;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(3);
}

struct message {
  std::int64_t sent_ns = 0;
  std::uint64_t number = 0;
  std::array<char, 48> rest{};
};
static_assert(sizeof(message) == 64);

/// What came back.
struct answers {
  std::vector<double> took_us;
  std::uint64_t wrong = 0;
};

class connection {
 public:
  explicit connection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) give_up("connect");
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  connection(const connection&) = delete;
  auto operator=(const connection&) -> connection& = delete;
  ~connection() { ::close(socket_); }

  [[nodiscard]] auto number() const -> int { return socket_; }

  void say() {
    const message made{.sent_ns = now_ns(), .number = said_++};
    if (::send(socket_, &made, sizeof(made), MSG_NOSIGNAL) != static_cast<::ssize_t>(sizeof(made))) give_up("send");
  }

  /// Takes what has come, which may end in the middle of an answer.
  void hear(answers& into) {
    const ::ssize_t got = ::recv(socket_, room_.data() + filled_, room_.size() - filled_, MSG_DONTWAIT);
    if (got <= 0) give_up("recv");
    const std::int64_t now = now_ns();
    filled_ += static_cast<std::size_t>(got);
    std::size_t taken = 0;
    for (; filled_ - taken >= sizeof(message); taken += sizeof(message)) {
      message answer;
      std::memcpy(&answer, room_.data() + taken, sizeof(answer));
      if (answer.number != heard_++ || answer.sent_ns > now || answer.rest != message().rest) ++into.wrong;
      into.took_us.push_back(static_cast<double>(now - answer.sent_ns) / 1e3);
    }
    std::memmove(room_.data(), room_.data() + taken, filled_ - taken);
    filled_ -= taken;
  }

 private:
  int socket_;
  std::uint64_t said_ = 0;
  std::uint64_t heard_ = 0;
  std::array<char, 65'536> room_{};
  std::size_t filled_ = 0;
};

/// All connections of the peer.
class talk {
 public:
  talk(std::uint16_t port, std::size_t connections) : poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (std::size_t i = 0; i < connections; ++i) {
      all_.push_back(std::make_unique<connection>(port));
      epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
      if (::epoll_ctl(poll_, EPOLL_CTL_ADD, all_.back()->number(), &event) != 0) give_up("epoll_ctl");
    }
  }
  talk(const talk&) = delete;
  auto operator=(const talk&) -> talk& = delete;
  ~talk() { ::close(poll_); }

  void say() { all_[next_++ % all_.size()]->say(); }

  /// Takes answers until then.
  void hear_until(std::int64_t due_ns, answers& into) {
    for (std::int64_t left = due_ns - now_ns(); left > 0; left = due_ns - now_ns()) hear_for(left, into);
  }

  /// Takes answers until there are so many, or none comes any more.
  void hear_all(std::size_t count, answers& into) {
    for (int patience = 1'000; into.took_us.size() < count && patience > 0; --patience) hear_for(10'000'000, into);
  }

 private:
  void hear_for(std::int64_t ns, answers& into) {
    const timespec wait{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    std::array<epoll_event, 64> events{};
    const int count = ::epoll_pwait2(poll_, events.data(), static_cast<int>(events.size()), &wait, nullptr);
    for (int i = 0; i < count; ++i) all_[events[static_cast<std::size_t>(i)].data.u64]->hear(into);
  }

  int poll_;
  std::vector<std::unique_ptr<connection>> all_;
  std::size_t next_ = 0;
};

/// Ahead of every thread that computes, if the system allows it; else as far ahead as it does.
auto goes_first() -> bool {
  const sched_param lowest{.sched_priority = 1};
  if (::sched_setscheduler(0, SCHED_FIFO, &lowest) == 0) return true;
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, -20));
  return false;
}

auto to_number(const char* text) -> std::uint64_t {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0') give_up("a number was expected");
  return value;
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const std::span all(arguments, static_cast<std::size_t>(count));
  if (count != 5) {
    std::fprintf(stderr, "usage: %s PORT CONNECTIONS MILLISECONDS MICROSECONDS_BETWEEN\n", all.front());
    return 2;
  }
  const std::size_t connections = to_number(all[2]);
  const std::int64_t gap_ns = static_cast<std::int64_t>(to_number(all[4])) * 1'000;
  const std::size_t messages = to_number(all[3]) * 1'000'000 / static_cast<std::size_t>(gap_ns);
  const bool is_first = goes_first();
  talk with(static_cast<std::uint16_t>(to_number(all[1])), connections);

  answers begin;  // each connection is accepted, and has been used, before anything is measured
  for (std::size_t i = 0; i < connections; ++i) with.say();
  with.hear_all(connections, begin);

  answers heard;
  heard.took_us.reserve(messages);
  std::int64_t due_ns = now_ns();
  for (std::size_t i = 0; i < messages; ++i) {
    due_ns += gap_ns;
    with.hear_until(due_ns, heard);
    with.say();
  }
  with.hear_all(messages, heard);
  if (heard.took_us.empty() || begin.took_us.size() != connections) return 1;
  const auto part = [&](double which) { return bench::percentile(heard.took_us, which); };
  std::printf("%zu %zu %llu %.2f %.2f %.2f %.2f %d\n", messages, heard.took_us.size(),
              static_cast<unsigned long long>(heard.wrong + begin.wrong), part(0.5), part(0.99), part(0.999), part(1),
              is_first ? 1 : 0);
  return 0;
}
