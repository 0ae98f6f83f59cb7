// src/io/signal_set.cpp: implements signal sets. A signal handler marks a signal as pending in all sets that include
// the signal, and wakes the tasks that wait for these sets.
#include <braid/io/process.hpp>

#include "backends.hpp"

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

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace braid {
namespace {

constexpr int signal_count = 65;

/// The slot of one `signal_set` in the table `places`. Writers hold the lock `changes`. The signal handler reads the
/// slot at any time and on any thread.
struct place {
  atomic<std::uint64_t> signals{0};  // a bit for each signal of the set; 0: a free place
  atomic<std::uint64_t> pending{0};  // the signals that have arrived: set by handlers, cleared by `next`
  atomic<int> event{-1};             // the end of an event to which handlers write
  int owned = -1;                    // the same end if the place owns it, as for a pipe; guarded by `changes`
};

std::array<place, signal_set::max_sets> places;
atomic<int> handlers{0};          // the number of running handlers
detail::fork_safe_mutex changes;  // guards the variables below, and writes to `places`
std::array<int, signal_count> users{};
std::array<struct sigaction, signal_count> before{};
std::uint64_t generation = 0;  // the number of forks since the first process

/// The number of bits of a ticket that hold the index of the set in `places`. The other bits count forks, because in
/// the child of a fork this index may belong to another set.
constexpr unsigned place_bits = 8;
static_assert(signal_set::max_sets <= std::size_t{1} << place_bits);
constexpr auto find_place(std::size_t ticket) noexcept -> std::size_t {
  return ticket & ((std::size_t{1} << place_bits) - 1);
}

constexpr auto signal_bit(int signal) noexcept -> std::uint64_t {
  return std::uint64_t{1} << static_cast<unsigned>(signal - 1);
}

void handle(int signal) noexcept {
  const int error = errno;
  // edge signals.gone: both, Dekker: `leave` sees this handler's count, or the handler sees that `leave` has cleared
  // the signals
  handlers.fetch_add(1, seq_cst);
  for (place& each : places) {
    // edge signals.gone: both, Dekker with `leave`; also, a handler that sees the bit of a signal sees `event`
    if ((each.signals.load(seq_cst) & signal_bit(signal)) == 0) continue;
    // edge signals.pending: publish, the task sees all writes before the signal; a signal that is already pending
    // writes nothing
    if ((each.pending.fetch_or(signal_bit(signal), release) & signal_bit(signal)) != 0) continue;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(each.event.load(relaxed), &one, sizeof(one));
  }
  // edge signals.handled: publish, `leave` returns after the handler's last use of the descriptor
  handlers.fetch_sub(1, release);
  errno = error;
}

auto catch_signal(int signal) noexcept -> bool {
  if (users[static_cast<std::size_t>(signal)]++ != 0) return true;
  struct sigaction caught{};
  caught.sa_handler = &handle;
  caught.sa_flags = SA_RESTART;
  sigfillset(&caught.sa_mask);  // a macro on macOS
  if (::sigaction(signal, &caught, &before[static_cast<std::size_t>(signal)]) == 0) return true;
  --users[static_cast<std::size_t>(signal)];
  return false;
}

void release_signals(std::uint64_t signals) noexcept {
  for (int signal = 1; signal < signal_count; ++signal) {
    const auto at = static_cast<std::size_t>(signal);
    if ((signals & signal_bit(signal)) != 0 && --users[at] == 0) ::sigaction(signal, &before[at], nullptr);
  }
}

/// Removes one pending signal from a set and returns its number, or returns 0 if no signal is pending. Chooses the next
/// pending signal after `last` in numerical order, with wrap-around, so that a frequent signal does not starve other
/// signals.
auto take_after(place& from, int last) noexcept -> int {
  const std::uint64_t pending = from.pending.load(relaxed);  // only the caller clears bits
  if (pending == 0) return 0;
  // Signal n has bit n - 1. After a rotation by `last` bits, the lowest bit belongs to the signal after `last`.
  const int signal = (last + std::countr_zero(std::rotr(pending, last))) % 64 + 1;
  // edge signals.pending: observe, all writes before the signal was raised are seen
  from.pending.fetch_and(~signal_bit(signal), acquire);
  return signal;
}

void close_owned(place& slot) noexcept {
  if (const int owned = std::exchange(slot.owned, -1); owned >= 0) ::close(owned);
}

/// Frees a set's slot in `places`. Returns once no handler uses the set's descriptor any more. In the child of a fork,
/// the sets of the parent have no slot, so nothing is freed.
void leave(std::size_t ticket) noexcept {
  const std::lock_guard guard(changes);
  if (ticket >> place_bits != generation) return;
  const std::size_t index = find_place(ticket);
  // edge signals.gone: both, Dekker: a handler sees the cleared signals, or the loop below sees the handler's count
  const std::uint64_t signals = places[index].signals.exchange(0, seq_cst);
  release_signals(signals);
  // edge signals.gone: observe, Dekker as above; edge signals.handled: observe the last use of the descriptor
  while (handlers.load(seq_cst) != 0) detail::cpu_pause();
  close_owned(places[index]);
}

constinit thread_local sigset_t mask_before_fork{};

/// Blocks signals while this thread forks. Otherwise a signal could reach the child before the child has cleared the
/// table. The handler of the parent would then consume the signal in the child, and the signal would be lost.
void block_during_fork() noexcept {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &mask_before_fork);
}

void unblock_after_fork() noexcept { ::pthread_sigmask(SIG_SETMASK, &mask_before_fork, nullptr); }

/// Called in the child of a fork. Restores the action that each signal had before the first set included the signal.
/// The waiting tasks belong to the parent, and the descriptors that the handler writes to may be other files in the
/// child.
void forget_sets_in_child() noexcept {
  for (place& each : places) {
    each.signals.store(0, relaxed);
    each.pending.store(0, relaxed);
    each.event.store(-1, relaxed);
    each.owned = -1;  // may be another file by now
  }
  for (int signal = 1; signal < signal_count; ++signal) {
    const auto at = static_cast<std::size_t>(signal);
    if (std::exchange(users[at], 0) != 0) ::sigaction(signal, &before[at], nullptr);
  }
  handlers.store(0, relaxed);
  ++generation;
  unblock_after_fork();
}

/// The handlers are registered when the library is loaded, because the first set may be created while another thread
/// forks.
[[maybe_unused]] const int set_fork_handlers =
    ::pthread_atfork(&block_during_fork, &unblock_after_fork, &forget_sets_in_child);

/// Adds a set of signals to the table and returns its ticket. `read` is the descriptor of the event's reading end,
/// which a stream already owns.
auto enter(std::initializer_list<int> wanted, const detail::event_ends& ends, int read) -> result<std::size_t> {
  const std::lock_guard guard(changes);
  std::size_t index = 0;
  while (index < places.size() && places[index].signals.load(relaxed) != 0) ++index;
  if (index == places.size()) return fail(errc::full);
  const int owned = ends.write ? ::fcntl(ends.write.number(), F_DUPFD_CLOEXEC, 0) : -1;
  if (ends.write && owned < 0) return fail(last_system_error());
  places[index].owned = owned;
  places[index].event.store(owned < 0 ? read : owned, relaxed);  // no handler looks at either before the store below
  places[index].pending.store(0, relaxed);
  std::uint64_t caught = 0;
  for (const int signal : wanted) {
    if ((caught & signal_bit(signal)) != 0) continue;
    if (!catch_signal(signal)) {
      const auto error = last_system_error();
      release_signals(caught);
      close_owned(places[index]);
      return fail(error);
    }
    caught |= signal_bit(signal);
  }
  // edge signals.gone: both, a handler that sees the bits of the signals sees `event`
  places[index].signals.store(caught, seq_cst);
  return index | generation << place_bits;
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

auto signal_set::create(loop& loop, std::initializer_list<int> signals) -> result<signal_set> {
  if (signals.size() == 0) return fail(errc::invalid_argument);
  for (const int signal : signals)
    if (signal < 1 || signal >= signal_count) return fail(errc::invalid_argument);
  auto ends = detail::event_ends::create();
  if (!ends) return fail(ends.error());
  auto wakes = pipe_stream::adopt(loop, std::move(ends->read));
  if (!wakes) return fail(wakes.error());
  const auto ticket = enter(signals, *ends, wakes->number());
  if (!ticket) return fail(ticket.error());
  return signal_set(std::move(*wakes), *ticket);
}

auto signal_set::next() -> task<result<int>> {
  for (;;) {
    if (const int signal = take_after(places[find_place(place_.value())], last_); signal != 0) {
      last_ = signal;
      co_return signal;
    }
    // If the handler wrote a byte for a signal that was already consumed, the byte causes one spurious wake-up.
    std::array<std::byte, sizeof(std::uint64_t)> count{};
    const auto got = co_await wakes_.read_some(count);
    if (!got) co_return fail(got.error());
  }
}

}  // namespace braid
