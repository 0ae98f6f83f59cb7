// tests/support/fault_proxy.hpp: stands between a client and a server, and delays, splits, cuts and garbles by a seed.
#pragma once

#include <tests/support/scratch_folder.hpp>

#include <braid/base/random.hpp>
#include <braid/io/backend.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace braid::testing {

/// How many of a million pieces that pass meet which fate.
struct fault_rates {
  std::uint32_t delayed = 0;  ///< the piece, and all behind it, stay for some milliseconds
  std::uint32_t split = 0;    ///< it goes on byte by byte for a while
  std::uint32_t cut = 0;      ///< the connection ends before it
  std::uint32_t halved = 0;   ///< the connection ends in the middle of it
  /// A byte of it is another one, which no protocol of text uses; only what the server says. What RESP uses would not
  /// do: it has no checksum, and a count that became another count makes each reply behind it that of another command.
  std::uint32_t garbled = 0;
  std::uint32_t swallowed = 0;  ///< nothing passes any more, and the connection stays open

  std::chrono::microseconds held{};  ///< so long each piece that the server says stays, whatever its fate
};

/// Where clients of a proxy come in.
enum class proxy_side : std::uint8_t { unix_socket, loopback };

/// One thread; the server is at a Unix socket. The same seed and the same pieces have the same fates.
class fault_proxy {
 public:
  fault_proxy(std::string server_path, std::uint64_t seed, proxy_side side = proxy_side::unix_socket)
      : server_path_(std::move(server_path)), random_(seed), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    const int family = side == proxy_side::unix_socket ? AF_UNIX : AF_INET;
    listener_ = descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!(side == proxy_side::unix_socket ? bind_path() : bind_port()) || ::listen(listener_.number(), 64) != 0)
      throw std::runtime_error("a fault proxy cannot listen");
    thread_ = std::thread([this] { run(); });
  }
  fault_proxy(const fault_proxy&) = delete;
  auto operator=(const fault_proxy&) -> fault_proxy& = delete;
  ~fault_proxy() {
    ending_.store(true, std::memory_order_relaxed);
    wake();
    thread_.join();
  }

  [[nodiscard]] auto path() const -> std::string { return (folder_.path() / "proxy").string(); }
  /// Of 127.0.0.1, where that is its side.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return port_; }

  void set(const fault_rates& rates) {
    {
      const std::lock_guard lock(mutex_);
      rates_ = rates;
    }
    wake();
  }

  [[nodiscard]] auto faults() const noexcept -> std::uint64_t { return faults_.load(std::memory_order_relaxed); }

 private:
  using clock = std::chrono::steady_clock;

  struct direction {
    std::string pending;
    clock::time_point held_until{};
    int crumbs = 0;     // pieces of a byte that still go out
    bool ends = false;  // with what is pending
  };
  struct pair {
    descriptor client;
    descriptor server;
    direction asked;     // from client to server
    direction answered;  // back
    bool is_over = false;
    bool is_swallowed = false;
  };

  static auto name_of(const std::string& path) -> sockaddr_un {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
    return name;
  }

  auto bind_path() -> bool {
    const sockaddr_un name = name_of(path());
    return ::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) == 0;
  }

  auto bind_port() -> bool {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(name);
    auto* const as_any = reinterpret_cast<sockaddr*>(&name);
    const bool done =
        ::bind(listener_.number(), as_any, size) == 0 && ::getsockname(listener_.number(), as_any, &size) == 0;
    port_ = ntohs(name.sin_port);
    return done;
  }

  void wake() const {
    const std::uint64_t one = 1;
    if (::write(wake_.number(), &one, sizeof(one)) < 0) return;  // it is up already
  }

  void run() {
    while (!ending_.load(std::memory_order_relaxed)) {
      wait();
      std::uint64_t ignored = 0;
      if (::read(wake_.number(), &ignored, sizeof(ignored)) < 0) ignored = 0;
      accept();
      for (const auto& each : pairs_) {
        pass(*each, each->client, each->server, each->asked, false);
        pass(*each, each->server, each->client, each->answered, true);
      }
      std::erase_if(pairs_, [](const auto& each) { return each->is_over; });
    }
  }

  void wait() {
    std::vector<pollfd> items{{.fd = wake_.number(), .events = POLLIN, .revents = 0},
                              {.fd = listener_.number(), .events = POLLIN, .revents = 0}};
    constexpr auto long_time = std::chrono::hours(1);
    clock::duration timeout = long_time;
    const auto look = [&](const direction& at, int from, int to) {
      if (at.pending.empty())
        items.push_back({.fd = from, .events = POLLIN, .revents = 0});
      else if (const auto left = at.held_until - clock::now(); left > clock::duration::zero())
        timeout = std::min(timeout, left);
      else
        items.push_back({.fd = to, .events = POLLOUT, .revents = 0});
    };
    for (const auto& each : pairs_) {
      if (each->is_swallowed) continue;
      look(each->asked, each->client.number(), each->server.number());
      look(each->answered, each->server.number(), each->client.number());
    }
    const auto seconds = std::chrono::floor<std::chrono::seconds>(timeout);
    const timespec span{.tv_sec = seconds.count(),
                        .tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(timeout - seconds).count()};
    ::ppoll(items.data(), items.size(), &span, nullptr);
  }

  void accept() {
    descriptor client(::accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!client) return;
    descriptor server(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const sockaddr_un name = name_of(server_path_);
    if (::connect(server.number(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0) return;
    pairs_.push_back(std::make_unique<pair>());
    pairs_.back()->client = std::move(client);
    pairs_.back()->server = std::move(server);
  }

  void pass(pair& of, const descriptor& from, const descriptor& to, direction& at, bool is_answer) {
    if (of.is_over || of.is_swallowed) return;
    if (at.pending.empty()) {
      std::array<char, 16'384> buffer;
      const ::ssize_t got = ::recv(from.number(), buffer.data(), buffer.size(), 0);
      if (got < 0) return;
      if (got == 0) {
        of.is_over = true;
        return;
      }
      at.pending.assign(buffer.data(), static_cast<std::size_t>(got));
      decide(of, at, is_answer);
    }
    if (!of.is_over && !of.is_swallowed) send(of, to, at);
  }

  void send(pair& of, const descriptor& to, direction& at) {
    if (at.held_until > clock::now()) return;
    const std::size_t size = at.crumbs > 0 ? 1 : at.pending.size();
    if (at.crumbs > 0) --at.crumbs;
    const ::ssize_t sent = ::send(to.number(), at.pending.data(), size, MSG_NOSIGNAL);
    if (sent > 0) at.pending.erase(0, static_cast<std::size_t>(sent));
    const bool failed = sent < 0 && errno != EAGAIN;
    of.is_over = failed || (at.ends && at.pending.empty());
  }

  void decide(pair& of, direction& at, bool is_answer) {
    fault_rates rates;
    {
      const std::lock_guard lock(mutex_);
      rates = rates_;
    }
    const auto happens = [&](std::uint32_t rate) {
      const bool it_does = random_.below(1'000'000) < rate;
      if (it_does) faults_.fetch_add(1, std::memory_order_relaxed);
      return it_does;
    };
    if (is_answer && rates.held.count() != 0) at.held_until = clock::now() + rates.held;
    if (happens(rates.delayed)) at.held_until = clock::now() + std::chrono::microseconds(random_.below(8'000));
    if (happens(rates.split)) at.crumbs = static_cast<int>(1 + random_.below(40));
    if (is_answer && happens(rates.garbled))
      at.pending[random_.below(at.pending.size())] = static_cast<char>(128 + random_.below(128));
    if (happens(rates.swallowed)) of.is_swallowed = true;
    if (happens(rates.halved)) {
      at.pending.resize(1 + random_.below(at.pending.size()));
      at.ends = true;
    }
    if (happens(rates.cut)) of.is_over = true;
  }

  scratch_folder folder_;
  std::string server_path_;
  random_source random_;  // of the thread
  std::mutex mutex_;
  fault_rates rates_;  // under the mutex
  descriptor wake_;
  descriptor listener_;
  std::uint16_t port_ = 0;
  std::vector<std::unique_ptr<pair>> pairs_;
  std::atomic<bool> ending_{false};
  std::atomic<std::uint64_t> faults_{0};
  std::thread thread_;
};

}  // namespace braid::testing
