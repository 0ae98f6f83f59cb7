// src/io/epoll_backend.cpp: implements the backend for Linux kernels of any version, with epoll(7).
#include "backends.hpp"

#include <braid/io/detail/transfer.hpp>

#if __has_include(<sys/epoll.h>)

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/epoll.h>

// This function is declared as a weak symbol, because musl and glibc before 2.35 do not have it.
extern "C" [[gnu::weak]] auto epoll_pwait2(int epoll, epoll_event* events, int room, const timespec* timeout,
                                           const sigset_t* mask) -> int;

namespace braid::detail {
namespace {

constexpr std::uint32_t read_events = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR;
constexpr std::uint32_t write_events = EPOLLOUT | EPOLLHUP | EPOLLERR;
constexpr std::uint32_t last_events = EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI;
constexpr std::uint64_t wake_data = ~std::uint64_t{0};

/// Prefetches a transfer that will soon be completed, and the operation that contains the transfer. If the objects are
/// already destroyed, this is harmless, because a prefetch reads no value.
void fetch_early(const void* transfer) noexcept {
  constexpr std::uintptr_t line = 64;
  const auto at = reinterpret_cast<std::uintptr_t>(transfer);
  for (std::uintptr_t each = at - 2 * line; each != at + 3 * line; each += line)
    __builtin_prefetch(reinterpret_cast<const void*>(each), 1);
}

/// A backend with epoll(7). After its event, a watched descriptor stays registered in the kernel but is disarmed, so
/// that the next watch costs only one system call. The descriptor is removed from the kernel when the watch is
/// cancelled or the descriptor is closed. A descriptor with an `io_registration` is registered once, edge-triggered for
/// both directions.
class epoll_backend final : public io_backend {
 public:
  epoll_backend(braid::descriptor epoll, wake_signal wake) noexcept
      : epoll_(std::move(epoll)), wake_(std::move(wake)) {}

  [[nodiscard]] auto name() const noexcept -> std::string_view override { return "epoll"; }
  [[nodiscard]] auto has_watches() const noexcept -> bool override { return watches_ != 0; }

  void wait(std::optional<duration> timeout) noexcept override {
    const std::size_t files = files_.size();  // more may arrive while they are called
    const int count = poll(files == 0 ? timeout : duration::zero());
    if (count < 0 && errno != EINTR) cannot_wait("epoll_wait(2)", errno);
    const auto reported = std::span(events_).first(static_cast<std::size_t>(std::max(count, 0)));
    for (std::size_t at = 0; at < reported.size(); ++at) {
      const epoll_event& event = reported[at];
      look_ahead(reported.subspan(at + 1));
      if (event.data.u64 == wake_data)
        wake_.clear();
      else
        deliver(event);
    }
    for (std::size_t at = 0; at < files; ++at) call(files_[at]);
    files_.erase(files_.begin(), files_.begin() + static_cast<std::ptrdiff_t>(files));
  }

  [[nodiscard]] auto descriptor() const noexcept -> int override { return epoll_.number(); }

  void wake() noexcept override { wake_.raise(); }

  [[nodiscard]] auto watch(io_watch& item) noexcept -> result<void> override {
    const result<entry*> known = table_.at(item.descriptor);
    if (!known) return fail(known.error());
    io_watch*& place = (*known)->waiting[index_of(item.interest)];
    if (place != nullptr || (*known)->registration != nullptr)
      return fail(std::make_error_code(std::errc::file_exists));
    place = &item;
    if (const std::error_code refused = arm(item.descriptor, **known); refused && !is_file(refused, item)) {
      place = nullptr;
      return fail(refused);
    }
    ++watches_;
    return {};
  }

  void unwatch(io_watch& item) noexcept override {
    entry& known = table_.known(item.descriptor);
    known.waiting[index_of(item.interest)] = nullptr;
    --watches_;
    if (known.is_idle()) return forget(item.descriptor, known);
    if (arm(item.descriptor, known)) report_next_time(item.descriptor, known);
  }

  [[nodiscard]] auto start(io_transfer& item) noexcept -> result<void> override {
    io_registration& registration = item.registration();
    if (!registration.is_registered())
      if (auto added = add(registration); !added) return added;
    registration.set_pending(item.side(), &item);
    ++watches_;
    return {};
  }

  [[nodiscard]] auto cancel(io_transfer& item) noexcept -> bool override {
    item.registration().set_pending(item.side(), nullptr);
    --watches_;
    return true;
  }

  void forget(io_registration& registration) noexcept override {
    if (!registration.is_registered()) return;
    registration.set_registered(false);
    entry& known = table_.known(registration.descriptor());
    known.registration = nullptr;
    known.is_registered = true;  // unless it is closed, which the next watch of the number finds out
    ++known.armed;               // a child process may keep the file open: later reports of the kernel are outdated
  }

  void release(io_registration& registration) noexcept override {
    if (!registration.is_registered()) return;
    forget(registration);
    forget(registration.descriptor(), table_.known(registration.descriptor()));
  }

  /// Registers the wake-up event, and waits once without blocking, to find out whether the system permits the calls.
  /// Errors: the system's error, if the system refuses a call that the backend needs.
  auto begin() noexcept -> result<void> {
    if (const std::error_code refused = listen_for_wakes(EPOLL_CTL_ADD)) return fail(refused);
    if (poll(duration::zero()) < 0 && errno != EINTR) return fail(last_system_error());
    return {};
  }

 private:
  struct entry {
    std::array<io_watch*, 2> waiting{};
    io_registration* registration = nullptr;
    std::uint32_t armed = 0;  // the number of times it was armed: events of earlier times are outdated
    bool is_registered = false;

    [[nodiscard]] auto is_idle() const noexcept -> bool { return waiting[0] == nullptr && waiting[1] == nullptr; }
  };

  struct ready_file {
    int number;
    io_interest interest;
  };

  /// The system calls that wait for events, in the order in which they are tried.
  enum class wait_call : std::uint8_t { pwait2, pwait, wait };

  auto listen_for_wakes(int operation) noexcept -> std::error_code {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = wake_data;
    const bool listens = ::epoll_ctl(epoll_.number(), operation, wake_.number(), &event) == 0;
    return listens ? std::error_code() : last_system_error();
  }

  /// Arms the descriptor for one report of the awaited events. The watch is level-triggered, so events that are already
  /// pending are reported as well.
  auto arm(int number, entry& known) noexcept -> std::error_code {
    ++known.armed;
    epoll_event event{};
    event.events = EPOLLONESHOT | (known.waiting[0] != nullptr ? EPOLLIN | EPOLLRDHUP : 0U) |
                   (known.waiting[1] != nullptr ? std::uint32_t{EPOLLOUT} : 0U);
    event.data.u64 = pack_data(number, known);
    // The kernel may report ENOENT: the descriptor's number may now belong to a newly opened file that is not
    // registered.
    int status = known.is_registered ? ::epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, number, &event) : -1;
    if (status != 0 && (!known.is_registered || errno == ENOENT))
      status = ::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, number, &event);
    known.is_registered = status == 0;
    return status == 0 ? std::error_code() : last_system_error();
  }

  /// Registers a descriptor, edge-triggered, for all events. Events that are already pending are reported once.
  [[nodiscard]] auto add(io_registration& registration) noexcept -> result<void> {
    const result<entry*> found = table_.at(registration.descriptor());
    if (!found) return fail(found.error());
    entry& known = **found;
    if (!known.is_idle() || known.registration != nullptr) return fail(std::make_error_code(std::errc::file_exists));
    ++known.armed;
    epoll_event event{};
    event.events = EPOLLET | EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLOUT;
    event.data.u64 = pack_data(registration.descriptor(), known);
    int status = ::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, registration.descriptor(), &event);
    if (status != 0 && errno == EEXIST)  // left by a watch of the same file
      status = ::epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, registration.descriptor(), &event);
    if (status != 0) return fail(last_system_error());
    known.is_registered = false;
    known.registration = &registration;
    registration.set_registered(true);
    return {};
  }

  static auto pack_data(int number, const entry& known) noexcept -> std::uint64_t {
    return std::uint64_t{known.armed} << 32U | static_cast<std::uint32_t>(number);
  }

  void forget(int number, entry& known) noexcept {
    ++known.armed;
    if (std::exchange(known.is_registered, false)) ::epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, number, nullptr);
  }

  /// Returns whether epoll refused the descriptor because it is a regular file. If so, marks the file as ready for the
  /// next wait. A sandbox may refuse all calls with the same error. To exclude this case, the function also modifies
  /// the registration of the wake-up event: only a sandbox refuses that.
  auto is_file(std::error_code refused, const io_watch& item) noexcept -> bool {
    if (refused != std::errc::operation_not_permitted || listen_for_wakes(EPOLL_CTL_MOD)) return false;
    try {
      files_.push_back({.number = item.descriptor, .interest = item.interest});
      return true;
    } catch (...) {
      return false;
    }
  }

  /// Reports the watches of a descriptor as ready at the next wait, because these watches cannot be armed again. The
  /// next operation on the descriptor then returns the error.
  void report_next_time(int number, const entry& known) noexcept {
    for (const io_interest side : {io_interest::read, io_interest::write}) {
      if (known.waiting[index_of(side)] == nullptr) continue;
      try {
        files_.push_back({.number = number, .interest = side});
      } catch (...) {
        cannot_wait("epoll_ctl(2)", ENOMEM);
      }
    }
  }

  static auto number_of(const epoll_event& event) noexcept -> int {
    return static_cast<int>(static_cast<std::uint32_t>(event.data.u64));
  }

  /// Prefetches the data of the next events: the record, then its registration, then the transfer. When many
  /// connections alternate, their data is no longer in the nearest caches. Each object is found through the previous
  /// one, so each is prefetched some events before it is needed.
  void look_ahead(std::span<const epoll_event> coming) noexcept {
    constexpr std::size_t for_transfer = 1;
    // docs/design/constants.md gives the reasons for these values.
    constexpr std::size_t for_registration = 3;
    constexpr std::size_t for_entry = 5;
    const auto known = [&](std::size_t index) -> entry* {
      return index < coming.size() && coming[index].data.u64 != wake_data ? &table_.known(number_of(coming[index]))
                                                                          : nullptr;
    };
    if (const entry* const one = known(for_entry)) __builtin_prefetch(one);
    if (const entry* const one = known(for_registration)) __builtin_prefetch(one->registration, 1);
    if (const entry* const one = known(for_transfer); one != nullptr && one->registration != nullptr)
      fetch_early(one->registration->pending(io_interest::read));
  }

  void deliver(const epoll_event& event) noexcept {
    const int number = number_of(event);
    const auto armed = static_cast<std::uint32_t>(event.data.u64 >> 32U);
    // A function that is called below may change the watches of the descriptor; the rest of the event is then outdated.
    // If the function has armed the descriptor again, the kernel reports the rest again. If it has cancelled the watch,
    // nobody waits for the rest.
    const auto is_current = [&] { return table_.known(number).armed == armed; };
    if (is_current() && table_.known(number).registration != nullptr)
      return notify(*table_.known(number).registration, event.events, is_current);
    if (is_current() && (event.events & read_events) != 0) call({.number = number, .interest = io_interest::read});
    if (is_current() && (event.events & write_events) != 0) call({.number = number, .interest = io_interest::write});
    if (entry& known = table_.known(number); is_current() && !known.is_idle() && arm(number, known))
      report_next_time(number, known);
  }

  /// Notifies the read side and then the write side of a registration. The write side is skipped if the first call has
  /// removed the registration.
  template <typename IsCurrent>
  void notify(io_registration& registration, std::uint32_t events, const IsCurrent& is_current) noexcept {
    if ((events & last_events) != 0) registration.distrust_short_reads();
    if ((events & (read_events | EPOLLPRI)) != 0) registration.set_ready(io_interest::read, true);
    if ((events & write_events) != 0) registration.set_ready(io_interest::write, true);
    for (const io_interest side : {io_interest::read, io_interest::write}) {
      if (!is_current()) return;
      io_transfer* const item = registration.may_be_ready(side) ? registration.pending(side) : nullptr;
      if (item == nullptr) continue;
      registration.set_pending(side, nullptr);
      --watches_;
      count_answer();
      item->answer_ready();
    }
  }

  void call(ready_file file) noexcept {
    io_watch* item = std::exchange(table_.known(file.number).waiting[index_of(file.interest)], nullptr);
    if (item == nullptr) return;
    --watches_;
    count_answer();
    item->ready(*item);
  }

  /// Polls with the first system call that works. If a call fails with an error other than EINTR, tries the next one.
  /// Kernels before 5.11 do not have the first call, and sandboxes refuse calls with any error. Returns a negative
  /// number and sets errno if the last call fails, too.
  auto poll(std::optional<duration> timeout) noexcept -> int {
    const trace_slice slice = trace_wait(timeout);
    while (true) {
      const int count = ask(timeout);
      if (count >= 0 || errno == EINTR || wait_call_ == wait_call::wait) return count;
      wait_call_ = wait_call_ == wait_call::pwait2 ? wait_call::pwait : wait_call::wait;
    }
  }

  auto ask(std::optional<duration> timeout) noexcept -> int {
    const auto room = static_cast<int>(events_.size());
    if (wait_call_ == wait_call::wait)
      return ::epoll_wait(epoll_.number(), events_.data(), room, as_milliseconds(timeout));
    if (wait_call_ == wait_call::pwait)
      return ::epoll_pwait(epoll_.number(), events_.data(), room, as_milliseconds(timeout), nullptr);
    const timespec span = as_timespec(timeout.value_or(duration::zero()));
    return ::epoll_pwait2(epoll_.number(), events_.data(), room, timeout ? &span : nullptr, nullptr);
  }

  braid::descriptor epoll_;
  wake_signal wake_;
  std::array<epoll_event, 256> events_{};
  descriptor_table<entry> table_;
  std::vector<ready_file> files_;  // watched files, ready at the next wait
  std::size_t watches_ = 0;
  wait_call wait_call_ = &::epoll_pwait2 != nullptr ? wait_call::pwait2 : wait_call::pwait;
};

}  // namespace

auto make_epoll_backend() -> result<std::unique_ptr<io_backend>> {
  descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail(last_system_error());
  auto wake = wake_signal::create();
  if (!wake) return fail(wake.error());
  auto backend = std::make_unique<epoll_backend>(std::move(epoll), std::move(*wake));
  if (auto ready = backend->begin(); !ready) return fail(ready.error());
  return backend;
}

}  // namespace braid::detail

#endif
