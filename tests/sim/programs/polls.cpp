// tests/sim/programs/polls.cpp: epoll, select and timer descriptors. The checks hold outside of the simulator as well,
// so that the kernel confirms each of them.
#include <tests/sim/programs/sockets.hpp>

using namespace simulated;

namespace {

// --- epoll ---

struct poller {
  owned number{epoll_create1(EPOLL_CLOEXEC)};
  auto control(int operation, int descriptor, std::uint32_t events) const -> int {
    epoll_event wanted{};
    wanted.events = events;
    wanted.data.fd = descriptor;
    return epoll_ctl(number, operation, descriptor, &wanted);
  }
  /// Returns the events of one descriptor, or 0.
  auto find(int limit = 0) const -> std::uint32_t {
    epoll_event found{};
    return epoll_wait(number, &found, 1, limit) == 1 ? found.events : 0;
  }
  auto count(int limit = 0) const -> int {
    std::array<epoll_event, 16> found{};
    return epoll_wait(number, found.data(), 16, limit);
  }
};

constexpr std::uint32_t in = EPOLLIN;

void polls() {
  pair both = connected();
  const poller level;
  const poller edge;
  const poller once;
  CHECK(level.control(EPOLL_CTL_MOD, both.server, in) == -1 && errno == ENOENT);
  CHECK(level.control(EPOLL_CTL_ADD, both.server, in) == 0);
  CHECK(level.control(EPOLL_CTL_ADD, both.server, in) == -1 && errno == EEXIST);
  edge.control(EPOLL_CTL_ADD, both.server, in | EPOLLET);
  once.control(EPOLL_CTL_ADD, both.server, in | EPOLLONESHOT);
  CHECK(level.find() == 0 && edge.find() == 0 && once.find() == 0);
  CHECK(write(both.client, "a", 1) == 1);
  CHECK(level.find(10'000) == in && level.find() == in);
  CHECK(edge.find() == in && edge.find() == 0);
  CHECK(once.find() == in && once.find() == 0);
  CHECK(write(both.client, "b", 1) == 1);
  CHECK(edge.find(10'000) == in && edge.find() == 0);  // an edge although the first byte was not read
  CHECK(once.find() == 0);
  CHECK(once.control(EPOLL_CTL_MOD, both.server, in | EPOLLONESHOT) == 0 && once.find() == in);
  CHECK(edge.control(EPOLL_CTL_MOD, both.server, in | EPOLLET) == 0 && edge.find() == in);
  CHECK(text_of(both.server) == "ab");
  CHECK(level.find() == 0);
  CHECK(level.control(EPOLL_CTL_MOD, both.server, EPOLLIN | EPOLLOUT) == 0 && level.find() == EPOLLOUT);
  CHECK(level.control(EPOLL_CTL_DEL, both.server, 0) == 0 && level.find() == 0);
  both.client.close();
  CHECK(edge.find(10'000) == in);  // RDHUP was not asked for
  level.control(EPOLL_CTL_ADD, both.server, EPOLLRDHUP);
  CHECK(level.find() == EPOLLRDHUP);
  both.server.close();
  CHECK(level.find() == 0 && edge.find() == 0);

  const owned event(eventfd(0, EFD_NONBLOCK));
  const owned pending(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
  level.control(EPOLL_CTL_ADD, event, in);
  level.control(EPOLL_CTL_ADD, pending, in);
  eventfd_write(event, 1);
  const itimerspec soon{{0, 0}, {0, 1'000'000}};
  timerfd_settime(pending, 0, &soon, nullptr);
  CHECK(level.find(10'000) == in);
  while (level.count() != 2) std::this_thread::sleep_for(1ms);
  CHECK(to_events(level.number, POLLIN) == POLLIN);
  const poller outer;
  outer.control(EPOLL_CTL_ADD, level.number, in);
  CHECK(outer.find() == in);
  CHECK(level.control(EPOLL_CTL_ADD, level.number, in) == -1 && errno == EINVAL);
}

void exclusive_polls() {
  const owned listener = listening();
  make_nonblocking(listener);
  std::array<poller, 3> all;
  std::atomic<int> accepted = 0;
  std::vector<std::thread> threads;
  for (const poller& each : all) {
    CHECK(each.control(EPOLL_CTL_ADD, listener, in | EPOLLEXCLUSIVE) == 0);
    CHECK(each.control(EPOLL_CTL_MOD, listener, in) == -1 && errno == EINVAL);
    threads.emplace_back([&] {
      while (accepted < 3) {
        if (each.find(5) == 0) continue;
        if (const owned one(accept(listener, nullptr, nullptr)); one >= 0) ++accepted;
      }
    });
  }
  for (int each = 0; each < 3; ++each) {
    const owned client = connected_to(address_of(listener));
    CHECK(text_of(client).empty());
  }
  for (std::thread& each : threads) each.join();
  CHECK(accepted == 3);
}

void selects() {
  const pair both = connected();
  fd_set reads;
  fd_set writes;
  FD_ZERO(&reads);
  FD_ZERO(&writes);
  FD_SET(both.server, &reads);
  FD_SET(both.client, &writes);
  const int bound = std::max(both.client.number, both.server.number) + 1;
  timeval limit{10, 0};
  CHECK(select(bound, &reads, &writes, nullptr, &limit) == 1);
  CHECK(!FD_ISSET(both.server, &reads) && FD_ISSET(both.client, &writes));
  CHECK(write(both.client, "x", 1) == 1);
  FD_ZERO(&reads);
  FD_SET(both.server, &reads);
  CHECK(select(bound, &reads, nullptr, nullptr, &limit) == 1 && FD_ISSET(both.server, &reads));
  pollfd closed{999, POLLIN, 0};
  CHECK(poll(&closed, 1, 0) == 1 && closed.revents == POLLNVAL);
}

void timers() {
  const owned timer(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
  std::uint64_t count = 0;
  CHECK(read(timer, &count, sizeof(count)) == -1 && errno == EAGAIN);
  const itimerspec often{{0, 10'000'000}, {0, 30'000'000}};
  CHECK(timerfd_settime(timer, 0, &often, nullptr) == 0);
  itimerspec shown{};
  CHECK(timerfd_gettime(timer, &shown) == 0 && shown.it_interval.tv_nsec == 10'000'000);
  CHECK(shown.it_value.tv_nsec > 0 && shown.it_value.tv_nsec <= 30'000'000);
  CHECK(wait_in(timer) == POLLIN && read(timer, &count, sizeof(count)) == 8 && count >= 1);
  std::this_thread::sleep_for(55ms);
  CHECK(read(timer, &count, sizeof(count)) == 8 && count >= 5);
  CHECK(wait_in(timer) == POLLIN);
  const itimerspec off{};
  CHECK(timerfd_settime(timer, 0, &off, nullptr) == 0 && to_events(timer) == 0);
  const itimerspec past{{0, 0}, {1, 0}};
  CHECK(timerfd_settime(timer, TFD_TIMER_ABSTIME, &past, nullptr) == 0 && wait_in(timer) == POLLIN);
}

const std::map<std::string_view, void (*)()> parts = {
    {"polls", &polls}, {"exclusive", &exclusive_polls}, {"selects", &selects}, {"timers", &timers}};

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, parts); }
