// src/io/signal_set.cpp: a handler that marks a signal as pending in the sets that have it, and wakes their tasks.
#include <braid/io/process.hpp>

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <array>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

namespace braid {
namespace {

constexpr int signal_count = 65;

/// One set. Written under `changes`; read by the handler, which may run at any time on any thread.
struct place {
  atomic<std::uint64_t> signals{0};  // one bit for each; 0: a free place
  atomic<std::uint64_t> pending{0};  // of those, the ones that have come: set by handlers, cleared by `next`
  atomic<int> event{-1};             // an eventfd
};

std::array<place, signal_set::max_sets> places;
atomic<int> handlers{0};          // how many run at the moment
detail::fork_safe_mutex changes;  // around what follows, and the writing of `places`
std::array<int, signal_count> users{};
std::array<struct sigaction, signal_count> before{};

constexpr auto bit_of(int signal) noexcept -> std::uint64_t {
  return std::uint64_t{1} << static_cast<unsigned>(signal - 1);
}

void handle(int signal) noexcept {
  const int error = errno;
  // edge signals.gone: both, Dekker: `leave` sees this count, or this handler sees its 0
  handlers.fetch_add(1, seq_cst);
  for (place& each : places) {
    // edge signals.gone: both, Dekker with `leave`; `event` is seen
    if ((each.signals.load(seq_cst) & bit_of(signal)) == 0) continue;
    // edge signals.pending: publish, so that the task sees what was done before the signal was raised
    if ((each.pending.fetch_or(bit_of(signal), release) & bit_of(signal)) != 0) continue;  // the first one writes
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(each.event.load(relaxed), &one, sizeof(one));
  }
  // edge signals.handled: publish, `leave` returns after the last use of the descriptor
  handlers.fetch_sub(1, release);
  errno = error;
}

auto catch_signal(int signal) noexcept -> bool {
  if (users[static_cast<std::size_t>(signal)]++ != 0) return true;
  struct sigaction caught{};
  caught.sa_handler = &handle;
  caught.sa_flags = SA_RESTART;
  ::sigfillset(&caught.sa_mask);
  if (::sigaction(signal, &caught, &before[static_cast<std::size_t>(signal)]) == 0) return true;
  --users[static_cast<std::size_t>(signal)];
  return false;
}

void release_signals(std::uint64_t signals) noexcept {
  for (int signal = 1; signal < signal_count; ++signal) {
    const auto at = static_cast<std::size_t>(signal);
    if ((signals & bit_of(signal)) != 0 && --users[at] == 0) ::sigaction(signal, &before[at], nullptr);
  }
}

/// Takes one pending signal out of the place: the first after `last` in the order of numbers, which wraps around, so
/// that a signal that comes again and again starves no other. 0: none is pending.
auto take_after(place& from, int last) noexcept -> int {
  const std::uint64_t pending = from.pending.load(relaxed);  // only the caller clears bits
  if (pending == 0) return 0;
  // Bit n - 1 is signal n's: rotated by `last`, the bit of the signal after it is the lowest.
  const int signal = (last + std::countr_zero(std::rotr(pending, last))) % 64 + 1;
  // edge signals.pending: observe, what was done before the signal was raised is seen
  from.pending.fetch_and(~bit_of(signal), acquire);
  return signal;
}

/// From its return on no handler knows the descriptor.
void leave(std::size_t index) noexcept {
  const std::lock_guard guard(changes);
  // edge signals.gone: both, Dekker: a handler sees this 0, or the loop below sees it
  const std::uint64_t signals = places[index].signals.exchange(0, seq_cst);
  release_signals(signals);
  // edge signals.gone: observe, Dekker as above; edge signals.handled: observe the last use of the descriptor
  while (handlers.load(seq_cst) != 0) detail::cpu_pause();
}

auto enter(std::initializer_list<int> wanted, int event) -> result<std::size_t> {
  const std::lock_guard guard(changes);
  std::size_t index = 0;
  while (index < places.size() && places[index].signals.load(relaxed) != 0) ++index;
  if (index == places.size()) return fail(errc::full);
  places[index].event.store(event, relaxed);  // no handler looks at either before the store of the signals
  places[index].pending.store(0, relaxed);
  std::uint64_t caught = 0;
  for (const int signal : wanted) {
    if ((caught & bit_of(signal)) != 0) continue;
    if (!catch_signal(signal)) {
      const auto error = last_system_error();
      release_signals(caught);
      return fail(error);
    }
    caught |= bit_of(signal);
  }
  // edge signals.gone: both, a handler that sees the signals sees `event`
  places[index].signals.store(caught, seq_cst);
  return index;
}

}  // namespace

signal_set::signal_set(pipe_stream wakes, std::size_t place) noexcept : wakes_(std::move(wakes)), place_(place) {}

signal_set::signal_set(signal_set&& other) noexcept
    : wakes_(std::move(other.wakes_)), place_(std::exchange(other.place_, std::nullopt)), last_(other.last_) {}

auto signal_set::operator=(signal_set&& other) noexcept -> signal_set& {
  if (this == &other) return *this;
  if (place_) leave(*place_);  // before its descriptor is closed
  place_ = std::exchange(other.place_, std::nullopt);
  wakes_ = std::move(other.wakes_);
  last_ = other.last_;
  return *this;
}

signal_set::~signal_set() {
  if (place_) leave(*place_);
}

auto signal_set::create(loop& on, std::initializer_list<int> signals) -> result<signal_set> {
  if (signals.size() == 0) return fail(errc::invalid_argument);
  for (const int signal : signals)
    if (signal < 1 || signal >= signal_count) return fail(errc::invalid_argument);
  descriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail(last_system_error());
  auto wakes = pipe_stream::adopt(on, std::move(event));
  if (!wakes) return fail(wakes.error());
  const auto index = enter(signals, wakes->number());
  if (!index) return fail(index.error());
  return signal_set(std::move(*wakes), *index);
}

auto signal_set::next() -> task<result<int>> {
  for (;;) {
    if (const int signal = take_after(places[place_.value()], last_); signal != 0) {
      last_ = signal;
      co_return signal;
    }
    // What was written for a signal that has been taken meanwhile ends a wait for nothing, once.
    std::array<std::byte, sizeof(std::uint64_t)> count{};
    const auto got = co_await wakes_.read_some(count);
    if (!got) co_return fail(got.error());
  }
}

}  // namespace braid
