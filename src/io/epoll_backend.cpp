// src/io/epoll_backend.cpp: the backend that every Linux has.
#include <braid/io/backend.hpp>
#include <braid/io/descriptor.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <ctime>
#include <span>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace braid {

io_backend::~io_backend() = default;

void descriptor::close() noexcept {
  // Not tried again after EINTR: Linux has closed it by then.
  if (number_ != none) ::close(std::exchange(number_, none));
}

namespace {

class epoll_backend final : public io_backend {
 public:
  epoll_backend(descriptor epoll, descriptor wake) noexcept : epoll_(std::move(epoll)), wake_(std::move(wake)) {}

  [[nodiscard]] auto name() const noexcept -> std::string_view override { return "epoll"; }
  [[nodiscard]] auto has_watches() const noexcept -> bool override { return watches_ != 0; }

  void wait(std::optional<duration> timeout) noexcept override {
    const int count = poll(timeout);
    ready_ = std::span(events_).first(static_cast<std::size_t>(std::max(count, 0)));
    for (epoll_event& event : ready_) {
      if (event.data.ptr == this)
        clear_wake();
      else if (event.data.ptr != nullptr)
        deliver(*static_cast<io_watch*>(event.data.ptr));
    }
    ready_ = {};
  }

  void wake() noexcept override {
    const std::uint64_t one = 1;
    // The only failure is a full counter, and then the loop wakes as well.
    [[maybe_unused]] const auto written = ::write(wake_.number(), &one, sizeof(one));
  }

  [[nodiscard]] auto watch(io_watch& item) noexcept -> result<void> override {
    epoll_event event{};
    event.events = EPOLLONESHOT | (item.interest == io_interest::read ? EPOLLIN | EPOLLRDHUP : EPOLLOUT);
    event.data.ptr = &item;
    if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, item.descriptor, &event) != 0) return fail(last_system_error());
    ++watches_;
    return {};
  }

  void unwatch(io_watch& item) noexcept override {
    forget(item);
    // It may be among the events of this turn that have not been delivered yet.
    for (epoll_event& event : ready_)
      if (event.data.ptr == &item) event.data.ptr = nullptr;
  }

  /// Registers the eventfd. Its events carry the backend's own address.
  auto listen_for_wakes() noexcept -> result<void> {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = this;
    if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, wake_.number(), &event) != 0) return fail(last_system_error());
    return {};
  }

 private:
  void forget(io_watch& item) noexcept {
    ::epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, item.descriptor, nullptr);
    --watches_;
  }

  void deliver(io_watch& item) noexcept {
    forget(item);
    item.ready(item);
  }

  void clear_wake() noexcept {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(wake_.number(), &count, sizeof(count));
  }

  auto poll(std::optional<duration> timeout) noexcept -> int {
    const auto room = static_cast<int>(events_.size());
    if (!has_nanosecond_wait_) return ::epoll_wait(epoll_.number(), events_.data(), room, milliseconds(timeout));
    timespec span{};
    if (timeout) {
      span.tv_sec = static_cast<time_t>(timeout->count() / 1'000'000'000);
      span.tv_nsec = static_cast<long>(timeout->count() % 1'000'000'000);
    }
    const int count = ::epoll_pwait2(epoll_.number(), events_.data(), room, timeout ? &span : nullptr, nullptr);
    if (count >= 0 || errno != ENOSYS) return count;
    has_nanosecond_wait_ = false;  // a kernel before 5.11
    return poll(timeout);
  }

  static auto milliseconds(std::optional<duration> timeout) noexcept -> int {
    if (!timeout) return -1;
    const auto rounded_up = std::chrono::ceil<std::chrono::milliseconds>(*timeout).count();
    return static_cast<int>(std::min<decltype(rounded_up)>(rounded_up, INT_MAX));
  }

  descriptor epoll_;
  descriptor wake_;
  std::array<epoll_event, 256> events_{};
  std::span<epoll_event> ready_;  // what this turn delivers
  std::size_t watches_ = 0;
  bool has_nanosecond_wait_ = true;
};

}  // namespace

auto make_epoll_backend() -> result<std::unique_ptr<io_backend>> {
  descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail(last_system_error());
  descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail(last_system_error());
  auto backend = std::make_unique<epoll_backend>(std::move(epoll), std::move(wake));
  if (auto ready = backend->listen_for_wakes(); !ready) return fail(ready.error());
  return backend;
}

}  // namespace braid
