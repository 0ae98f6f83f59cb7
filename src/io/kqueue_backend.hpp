// src/io/kqueue_backend.hpp: implements the backend for systems with kqueue(2). It does not contain the system calls,
// so tests can run it on any system.
#pragma once

#include "backends.hpp"

#include <braid/io/detail/transfer.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::detail {

/// A change of a kqueue, or an event from it. The fields and numbers are those of `struct kevent` on macOS.
struct kqueue_event {
  // The filters. A kqueue has at most one entry for each pair of a descriptor and a filter.
  static constexpr std::int16_t read = -1;
  static constexpr std::int16_t write = -2;
  static constexpr std::int16_t user = -10;

  // The flags of a change.
  static constexpr std::uint16_t add = 0x0001;
  static constexpr std::uint16_t remove = 0x0002;
  static constexpr std::uint16_t once = 0x0010;     // the kernel removes the entry when it has reported it
  static constexpr std::uint16_t edge = 0x0020;     // the kernel reports the entry again after something new only
  static constexpr std::uint16_t receipt = 0x0040;  // the kernel answers the change, also if it succeeds

  // The flags of an event.
  static constexpr std::uint16_t urgent = 0x2000;  // urgent data has arrived
  static constexpr std::uint16_t error = 0x4000;   // a change failed with the error `data`, which is 0 in a receipt
  static constexpr std::uint16_t end = 0x8000;     // the other side has closed

  static constexpr std::uint32_t trigger = 0x01000000;  // `details` of a change that makes a user entry ready

  std::uintptr_t number = 0;
  std::int16_t filter = 0;
  std::uint16_t flags = 0;
  std::uint32_t details = 0;
  std::int64_t data = 0;
  std::uint64_t mark = 0;  // of the program; the kernel returns it with each event
};

/// The system calls of the backend.
class kqueue_calls {
 public:
  /// The maximum number of changes, and also of events, in one call.
  static constexpr std::size_t max_events = 256;

  kqueue_calls() = default;
  kqueue_calls(const kqueue_calls&) = delete;
  auto operator=(const kqueue_calls&) -> kqueue_calls& = delete;
  virtual ~kqueue_calls() = default;

  /// Applies changes in their order, and then waits for events if there is room for any. Without a timeout, it waits
  /// for ever. If changes fail, it does not wait, and reports only the errors of these changes. Returns the number of
  /// events, or a negative error number.
  /// Threads: any, if there is no room for events.
  virtual auto kevent(std::span<const kqueue_event> changes, std::span<kqueue_event> events,
                      std::optional<duration> timeout) noexcept -> int = 0;

  /// Returns the descriptor of the kqueue.
  [[nodiscard]] virtual auto number() const noexcept -> int = 0;

  /// Returns whether the descriptor is a regular file. kqueue reports a regular file as readable only while the read
  /// position is before the end of the file.
  [[nodiscard]] virtual auto is_regular_file(int descriptor) noexcept -> bool = 0;

  /// Ends the program because the system refuses to wait.
  [[noreturn]] virtual void cannot_wait(int error) noexcept = 0;
};

/// Returns a timeout that every kqueue accepts. The timeout is at most one year, because macOS refuses more than three
/// years. It is rounded up to whole microseconds, because macOS ignores nanoseconds.
[[nodiscard]] constexpr auto kqueue_timeout(std::optional<duration> timeout) noexcept -> std::optional<timespec> {
  if (!timeout) return std::nullopt;
  constexpr duration year = std::chrono::hours(24 * 365);
  return as_timespec(std::chrono::ceil<std::chrono::microseconds>(std::min(*timeout, year)));
}

/// A backend with kqueue(2). The kernel keeps an entry for each side of a descriptor. The kernel removes the entry of a
/// watch when it reports the event. A descriptor with an `io_registration` has edge-triggered entries; each exists from
/// the first wait for its side until the descriptor is closed. Changes are collected and cost no system call of their
/// own: the next wait passes them to the kernel. If the kernel refuses an entry, a watch is reported as ready, and a
/// transfer ends with the error.
class kqueue_backend final : public io_backend {
 public:
  explicit kqueue_backend(std::unique_ptr<kqueue_calls> calls) noexcept : calls_(std::move(calls)) {}

  /// Adds the entry for wake-ups.
  /// Errors: the system's error, if the system refuses a call that the backend needs.
  [[nodiscard]] auto begin() noexcept -> result<void> {
    const kqueue_event wakes{.filter = kqueue_event::user, .flags = kqueue_event::add | kqueue_event::edge};
    const int status = calls_->kevent({&wakes, 1}, {}, duration::zero());
    if (status >= 0) return {};
    errno = -status;
    return fail(last_system_error());
  }

  [[nodiscard]] auto name() const noexcept -> std::string_view override { return "kqueue"; }
  [[nodiscard]] auto has_watches() const noexcept -> bool override { return watches_ != 0; }

  void wait(std::optional<duration> timeout) noexcept override {
    while (changed_.size() > sides_per_call)
      if (!apply()) break;
    const std::size_t ready = ready_.size();  // more may arrive while they are called
    const bool may_block = ready == 0 && changed_.size() <= sides_per_call;
    const int count = ask(collect(0), may_block ? timeout : duration::zero());
    note_changes(count >= 0);
    for (const kqueue_event& event : std::span(events_).first(static_cast<std::size_t>(std::max(count, 0))))
      deliver(event);
    for (std::size_t at = 0; at < ready; ++at) {
      side& place = side_of(ready_[at]);
      place.is_listed = false;
      if (const int error = std::exchange(place.answer, nothing); error != nothing) call(ready_[at], error);
    }
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(ready));
  }

  /// Returns the kqueue, which is readable while an entry is ready. From the first call on, changes are passed to the
  /// kernel at once, because an outer event loop may wait next.
  [[nodiscard]] auto descriptor() const noexcept -> int override {
    has_outer_loop_ = true;
    return calls_->number();
  }

  void wake() noexcept override {
    const kqueue_event raised{.filter = kqueue_event::user, .details = kqueue_event::trigger};
    static_cast<void>(calls_->kevent({&raised, 1}, {}, duration::zero()));
  }

  [[nodiscard]] auto watch(io_watch& item) noexcept -> result<void> override {
    const result<entry*> known = find(item.descriptor);
    if (!known) return fail(known.error());
    side& place = (*known)->sides[index_of(item.interest)];
    if (place.watch != nullptr || (*known)->registration != nullptr)
      return fail(std::make_error_code(std::errc::file_exists));
    place.watch = &item;
    ++watches_;
    const side_name name{.number = item.descriptor, .interest = item.interest};
    if (calls_->is_regular_file(item.descriptor))
      report_next_time(name, 0);
    else
      want(name, mode::once);
    return {};
  }

  void unwatch(io_watch& item) noexcept override {
    const side_name name{.number = item.descriptor, .interest = item.interest};
    side_of(name).watch = nullptr;
    --watches_;
    want(name, mode::none);
  }

  [[nodiscard]] auto start(io_transfer& item) noexcept -> result<void> override {
    io_registration& registration = item.registration();
    const result<entry*> known = find(registration.descriptor());
    if (!known) return fail(known.error());
    if (!registration.is_registered()) {
      const auto& sides = (*known)->sides;
      if (sides[0].watch != nullptr || sides[1].watch != nullptr || (*known)->registration != nullptr)
        return fail(std::make_error_code(std::errc::file_exists));
      (*known)->registration = &registration;
      registration.set_registered(true);
    }
    registration.set_pending(item.side(), &item);
    ++watches_;
    const side_name name{.number = registration.descriptor(), .interest = item.side()};
    if (side_of(name).wanted != mode::edge) want(name, mode::edge);
    return {};
  }

  [[nodiscard]] auto cancel(io_transfer& item) noexcept -> bool override {
    item.registration().set_pending(item.side(), nullptr);
    --watches_;
    return true;
  }

  /// Passes no change to the kernel, because the kernel removes the entries when the descriptor is closed.
  void forget(io_registration& registration) noexcept override {
    if (!registration.is_registered()) return;
    registration.set_registered(false);
    entry& known = table_.known(registration.descriptor());
    known.registration = nullptr;
    for (side& each : known.sides) {
      each.become(mode::none);
      each.may_be_in_kernel = false;
    }
  }

  void release(io_registration& registration) noexcept override {
    if (!registration.is_registered()) return;
    registration.set_registered(false);
    table_.known(registration.descriptor()).registration = nullptr;
    for (const io_interest each : {io_interest::read, io_interest::write})
      want({.number = registration.descriptor(), .interest = each}, mode::none);
  }

 private:
  enum class mode : std::uint8_t { none, once, edge };
  static constexpr int nothing = -1;

  /// The reading or writing side of a descriptor.
  struct side {
    io_watch* watch = nullptr;
    std::uint32_t times = 0;        // the number of changes: events from before the last one are outdated
    int answer = nothing;           // what the next wait reports without the kernel: an error, or 0 for ready
    mode wanted = mode::none;       // the kind of the entry
    bool may_be_in_kernel = false;  // an entry, of this or an earlier kind
    bool is_changed = false;        // listed in `changed_`
    bool is_listed = false;         // listed in `ready_`

    void become(mode next) noexcept {
      ++times;
      wanted = next;
      answer = nothing;
    }
  };
  struct entry {
    std::array<side, 2> sides;
    io_registration* registration = nullptr;
  };
  struct side_name {
    int number;
    io_interest interest;
  };

  static constexpr std::size_t sides_per_call = kqueue_calls::max_events / 2;  // each may need two changes
  static constexpr std::uint64_t removal_mark = ~std::uint64_t{0};

  [[nodiscard]] auto side_of(side_name name) noexcept -> side& {
    return table_.known(name.number).sides[index_of(name.interest)];
  }

  /// Returns the record of a descriptor. Reserves room in the lists for the sides of all descriptors up to this number,
  /// because the lists grow in functions that cannot report a failed allocation. `ready_` needs twice that room,
  /// because a side can be in `ready_` twice during a wait.
  [[nodiscard]] auto find(int number) noexcept -> result<entry*> {
    const result<entry*> known = table_.at(number);
    if (!known) return known;
    const std::size_t sides = 2 * (static_cast<std::size_t>(number) + 1);
    if (2 * sides <= ready_.capacity()) return known;
    try {
      changed_.reserve(2 * sides);
      ready_.reserve(4 * sides);  // the last one, so that its capacity implies that of the other
    } catch (...) {
      return fail(std::make_error_code(std::errc::not_enough_memory));
    }
    return known;
  }

  /// Requests that the kernel replaces a side's entry by an entry of this kind. Later events of the old entry are
  /// ignored.
  void want(side_name name, mode next) noexcept {
    side& place = side_of(name);
    place.become(next);
    if (!std::exchange(place.is_changed, true)) changed_.push_back(name);
    while (has_outer_loop_ && !changed_.empty())
      if (!apply()) break;
  }

  [[nodiscard]] auto next_changed() noexcept -> std::span<const side_name> {
    return std::span<const side_name>(changed_).first(std::min(changed_.size(), sides_per_call));
  }

  /// Returns the changes to pass to the kernel, for as many changed sides as fit into one call.
  [[nodiscard]] auto collect(std::uint16_t flags) noexcept -> std::span<const kqueue_event> {
    std::size_t size = 0;
    for (const side_name name : next_changed()) {
      const side& place = side_of(name);
      kqueue_event change{.number = static_cast<std::uintptr_t>(name.number),
                          .filter = name.interest == io_interest::read ? kqueue_event::read : kqueue_event::write};
      // An existing entry is removed first, because the kernel would keep some flags of the entry if it were only added
      // again.
      change.flags = kqueue_event::remove | flags;
      change.mark = removal_mark;
      if (place.may_be_in_kernel) changes_[size++] = change;
      change.flags = kqueue_event::add | flags | (place.wanted == mode::once ? kqueue_event::once : kqueue_event::edge);
      change.mark = place.times;
      if (place.wanted != mode::none) changes_[size++] = change;
    }
    return std::span<const kqueue_event>(changes_).first(size);
  }

  /// Records whether the kernel has applied all changes that `collect` has returned. If it has not, it may have applied
  /// some of the changes, and all of them are passed again.
  void note_changes(bool are_applied) noexcept {
    const auto sent = next_changed();
    for (const side_name name : sent) {
      side& place = side_of(name);
      place.may_be_in_kernel = place.wanted != mode::none || (!are_applied && place.may_be_in_kernel);
      if (are_applied) place.is_changed = false;
    }
    if (are_applied) changed_.erase(changed_.begin(), changed_.begin() + static_cast<std::ptrdiff_t>(sent.size()));
  }

  /// Passes the next changes to the kernel without receiving events. Returns false if the call must be repeated later.
  [[nodiscard]] auto apply() noexcept -> bool {
    // The kernel reports a result for each change, so the call returns without waiting.
    const auto changes = collect(kqueue_event::receipt);
    const int answers = changes.empty() ? 0 : ask(changes, duration::zero());
    const bool are_applied = answers == static_cast<int>(changes.size());
    note_changes(are_applied);
    if (!are_applied) return false;
    for (const kqueue_event& answer : std::span(events_).first(changes.size()))
      if (is_refusal(answer)) report_next_time(name_of(answer), static_cast<int>(answer.data));
    return true;
  }

  /// Returns whether the kernel has refused to add an entry that is still needed. An error of a removal is ignored: the
  /// descriptor was closed, or the kernel has just reported and removed the entry.
  [[nodiscard]] auto is_refusal(const kqueue_event& event) noexcept -> bool {
    return (event.flags & kqueue_event::error) != 0 && event.data != 0 && event.mark == side_of(name_of(event)).times;
  }

  static auto name_of(const kqueue_event& event) noexcept -> side_name {
    return {.number = static_cast<int>(event.number),
            .interest = event.filter == kqueue_event::read ? io_interest::read : io_interest::write};
  }

  /// Returns the number of events, or a negative number after a temporary error.
  auto ask(std::span<const kqueue_event> changes, std::optional<duration> timeout) noexcept -> int {
    const trace_slice slice = trace_wait(timeout);
    const int count = calls_->kevent(changes, events_, timeout);
    if (count < 0 && count != -EINTR && count != -ENOMEM) calls_->cannot_wait(-count);
    return count;
  }

  /// Reports a side as ready at the next wait, without asking the kernel.
  void report_next_time(side_name name, int error) noexcept {
    side& place = side_of(name);
    place.become(mode::none);
    place.answer = error;
    place.may_be_in_kernel = false;
    if (!std::exchange(place.is_listed, true)) ready_.push_back(name);
    if (has_outer_loop_) wake();
  }

  void deliver(const kqueue_event& event) noexcept {
    if (event.filter == kqueue_event::user) return;  // the kernel has cleared it
    const side_name name = name_of(event);
    side& place = side_of(name);
    if (event.mark != place.times) return;
    const bool is_refused = is_refusal(event);
    io_registration* const registration = table_.known(name.number).registration;
    if (is_refused || registration == nullptr) {
      place.become(mode::none);
      place.may_be_in_kernel = false;
    } else if ((event.flags & (kqueue_event::end | kqueue_event::urgent)) != 0) {
      registration->distrust_short_reads();
    }
    call(name, is_refused ? static_cast<int>(event.data) : 0);
  }

  /// Notifies the watch or the transfer that waits for a side.
  void call(side_name name, int error) noexcept {
    io_registration* const registration = table_.known(name.number).registration;
    if (registration == nullptr) {
      io_watch* const item = std::exchange(side_of(name).watch, nullptr);
      if (item == nullptr) return;
      --watches_;
      count_answer();
      return item->ready(*item);
    }
    registration->set_ready(name.interest, true);
    io_transfer* const item = registration->pending(name.interest);
    if (item == nullptr) return;
    registration->set_pending(name.interest, nullptr);
    --watches_;
    count_answer();
    error != 0 ? item->answer_moved(-error) : item->answer_ready();
  }

  std::unique_ptr<kqueue_calls> calls_;
  std::array<kqueue_event, kqueue_calls::max_events> changes_{};
  std::array<kqueue_event, kqueue_calls::max_events> events_{};
  descriptor_table<entry> table_;
  std::vector<side_name> changed_;  // sides whose entry in the kernel differs from what is wanted
  std::vector<side_name> ready_;    // sides that the next wait reports
  std::size_t watches_ = 0;
  mutable bool has_outer_loop_ = false;
};

}  // namespace braid::detail
