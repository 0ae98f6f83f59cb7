// src/io/poll_backend.cpp: implements the backend for any Unix, with poll(2).
#include "backends.hpp"

#include "../platform/descriptors.hpp"

#include <braid/io/detail/transfer.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>

#if !defined(POLLRDHUP)
#define POLLRDHUP 0  // on macOS, POLLIN includes it
#endif

namespace braid::detail {
namespace {

/// A backend with poll(2). The backend keeps a list of all watched descriptors, and passes the whole list to the kernel
/// for each wait.
class poll_backend final : public io_backend {
 public:
  explicit poll_backend(wake_signal wake) : wake_(std::move(wake)) {
    asked_.push_back({.fd = wake_.number(), .events = POLLIN, .revents = 0});
    items_.emplace_back();
  }

  [[nodiscard]] auto name() const noexcept -> std::string_view override { return "poll"; }
  [[nodiscard]] auto has_watches() const noexcept -> bool override { return waiting_ != 0; }

  void wait(std::optional<duration> timeout) noexcept override {
    const int count = ask(timeout);
    if (count < 0 && !passes(errno)) cannot_wait("poll(2)", errno);
    if (count <= 0) return;
    if (asked_[0].revents != 0) wake_.clear();
    for (std::size_t at = asked_.size() - 1; at != 0; --at)
      if (asked_[at].revents != 0) ready_.push_back(taken(at));
    for (std::size_t at = 0; at < ready_.size(); ++at) call(std::exchange(ready_[at], {}));
    ready_.clear();
  }

  void wake() noexcept override { wake_.raise(); }

  [[nodiscard]] auto watch(io_watch& item) noexcept -> result<void> override {
    return add(item.descriptor, item.interest, {.watch = &item});
  }

  void unwatch(io_watch& item) noexcept override { remove(item.descriptor, item.interest, {.watch = &item}); }

  [[nodiscard]] auto start(io_transfer& item) noexcept -> result<void> override {
    auto added = add(item.registration().descriptor(), item.side(), {.transfer = &item});
    if (added) item.registration().set_pending(item.side(), &item);
    return added;
  }

  [[nodiscard]] auto cancel(io_transfer& item) noexcept -> bool override {
    item.registration().set_pending(item.side(), nullptr);
    remove(item.registration().descriptor(), item.side(), {.transfer = &item});
    return true;
  }

  void forget(io_registration& /*port*/) noexcept override {}

  /// Polls once without blocking, to find out whether the system permits the call.
  /// Errors: the system's error, if the system refuses all forms of the call.
  [[nodiscard]] auto try_wait() noexcept -> result<void> {
    if (ask(duration::zero()) < 0 && !passes(errno)) return fail(last_system_error());
    return {};
  }

 private:
  /// Returns whether the error is temporary, so that a repeated call may succeed.
  static auto passes(int error) noexcept -> bool { return error == EINTR || error == EAGAIN || error == ENOMEM; }

  /// Polls with ppoll(2), whose timeouts are exact. Uses poll(2) instead if the system lacks ppoll(2) or has refused
  /// it.
  auto ask(std::optional<duration> timeout) noexcept -> int {
    const trace_slice slice = trace_wait(timeout);
    if (has_nanosecond_wait_) {
      const timespec span = as_timespec(timeout.value_or(duration::zero()));
      const int count = poll_exactly(asked_.data(), asked_.size(), timeout ? &span : nullptr);
      if (count >= 0 || passes(errno)) return count;
      has_nanosecond_wait_ = false;
    }
    return ::poll(asked_.data(), static_cast<::nfds_t>(asked_.size()), as_milliseconds(timeout));
  }

  struct entry {
    std::array<std::size_t, 2> places{};  // indexes in `asked_`, by interest; 0 if there is no entry
  };
  /// The object that waits for a descriptor: a readiness watch or a transfer.
  struct asker {
    io_watch* watch = nullptr;
    io_transfer* transfer = nullptr;
    auto operator==(const asker&) const -> bool = default;
  };

  static auto to_events(io_interest interest) noexcept -> short {
    return interest == io_interest::read ? POLLIN | POLLRDHUP : POLLOUT;
  }
  static auto index_of_events(short events) noexcept -> std::size_t { return events == POLLOUT ? 1 : 0; }

  [[nodiscard]] auto add(int number, io_interest interest, asker item) noexcept -> result<void> {
    const result<entry*> known = table_.at(number);
    if (!known) return fail(known.error());
    std::size_t& place = (*known)->places[index_of(interest)];
    if (place != 0) return fail(std::make_error_code(std::errc::file_exists));
    try {
      const std::size_t count = asked_.size() + 1;
      if (ready_.capacity() < count) grow(2 * count);
    } catch (...) {
      return fail(std::make_error_code(std::errc::not_enough_memory));
    }
    place = asked_.size();
    asked_.push_back({.fd = number, .events = to_events(interest), .revents = 0});
    items_.push_back(item);
    ++waiting_;
    return {};
  }

  void remove(int number, io_interest interest, asker item) noexcept {
    --waiting_;
    const std::size_t place = table_.known(number).places[index_of(interest)];
    if (place != 0 && items_[place] == item) {
      static_cast<void>(taken(place));
      return;
    }
    for (asker& each : ready_)  // it is ready, and has not been called yet
      if (each == item) each = {};
  }

  /// Reserves all memory that `wait` needs, because `wait` cannot report a failed allocation.
  void grow(std::size_t count) {
    items_.reserve(count);
    asked_.reserve(count);
    ready_.reserve(count);  // the last one, so that its capacity implies the capacity of the others
  }

  /// Removes an entry from the list, and moves the last entry to the index of the removed entry.
  auto taken(std::size_t index) noexcept -> asker {
    const asker item = items_[index];
    const pollfd question = asked_[index];
    items_[index] = items_.back();
    asked_[index] = asked_.back();
    find_place(asked_[index]) = index;
    find_place(question) = 0;
    items_.pop_back();
    asked_.pop_back();
    return item;
  }

  auto find_place(const pollfd& question) noexcept -> std::size_t& {
    return table_.known(question.fd).places[index_of_events(question.events)];
  }

  void call(asker item) noexcept {
    if (item.watch != nullptr) {
      --waiting_;
      count_answer();
      item.watch->ready(*item.watch);
    } else if (item.transfer != nullptr) {
      --waiting_;
      count_answer();
      io_registration& registration = item.transfer->registration();
      registration.set_pending(item.transfer->side(), nullptr);
      registration.set_ready(item.transfer->side(), true);
      item.transfer->answer_ready();
    }
  }

  wake_signal wake_;
  descriptor_table<entry> table_;
  std::vector<pollfd> asked_;  // the first entry is for wakes
  std::vector<asker> items_;   // the askers in the order of `asked_`
  std::vector<asker> ready_;   // the askers to be called in this wait
  std::size_t waiting_ = 0;
  bool has_nanosecond_wait_ = true;
};

}  // namespace

auto make_poll_backend() -> result<std::unique_ptr<io_backend>> {
  auto wake = wake_signal::create();
  if (!wake) return fail(wake.error());
  auto backend = std::make_unique<poll_backend>(std::move(*wake));
  if (auto granted = backend->try_wait(); !granted) return fail(granted.error());
  return backend;
}

}  // namespace braid::detail
