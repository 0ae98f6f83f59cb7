// src/io/signal_set.cpp: a handler that writes the number of a signal into the pipes of the sets that have it.
#include <braid/io/signal_set.hpp>

#include <braid/base/assert.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/cpu_pause.hpp>
#include <braid/sync/fork_safe_mutex.hpp>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <utility>

#include <unistd.h>

namespace braid {
namespace {

constexpr int signal_count = 65;

/// One set. Written under `changes`; read by the handler, which may run at any time on any thread.
struct place {
  atomic<std::uint64_t> signals{0};  // one bit for each; 0: nobody's
  atomic<int> pipe{-1};
};

std::array<place, signal_set::most_sets> places;
atomic<int> handlers{0};  // how many run at the moment
fork_safe_mutex changes;  // around what follows, and the writing of `places`
std::array<int, signal_count> users{};
std::array<struct sigaction, signal_count> before{};

constexpr auto bit_of(int signal) noexcept -> std::uint64_t {
  return std::uint64_t{1} << static_cast<unsigned>(signal - 1);
}

void handle(int signal) noexcept {
  const int error = errno;
  handlers.fetch_add(1, seq_cst);  // edge signals.gone: both
  for (place& each : places) {
    if ((each.signals.load(seq_cst) & bit_of(signal)) == 0) continue;  // edge signals.gone: both
    const auto byte = static_cast<char>(signal);
    // A full pipe holds so many signals that its reader is awake anyway.
    [[maybe_unused]] const auto written = ::write(each.pipe.load(relaxed), &byte, 1);
  }
  handlers.fetch_sub(1, release);  // edge signals.handled: publish
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

/// From its return on no handler knows the pipe.
void leave(std::size_t index) noexcept {
  const std::lock_guard guard(changes);
  const std::uint64_t signals = places[index].signals.exchange(0, seq_cst);  // edge signals.gone: both
  release_signals(signals);
  while (handlers.load(seq_cst) != 0) detail::cpu_pause();  // edge signals.gone: both, edge signals.handled: observe
}

auto enter(std::initializer_list<int> wanted, int pipe) -> result<std::size_t> {
  const std::lock_guard guard(changes);
  std::size_t index = 0;
  while (index < places.size() && places[index].signals.load(relaxed) != 0) ++index;
  if (index == places.size()) return fail(errc::full);
  places[index].pipe.store(pipe, relaxed);  // no handler looks at it before the next store
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
  places[index].signals.store(caught, seq_cst);  // edge signals.gone: both
  return index;
}

}  // namespace

signal_set::signal_set(pipe_stream reads, pipe_stream writes, std::size_t place) noexcept
    : reads_(std::move(reads)), writes_(std::move(writes)), place_(place) {}

signal_set::signal_set(signal_set&& other) noexcept
    : reads_(std::move(other.reads_)),
      writes_(std::move(other.writes_)),
      place_(std::exchange(other.place_, std::nullopt)) {}

signal_set::~signal_set() {
  if (place_) leave(*place_);
}

auto signal_set::create(loop& on, std::initializer_list<int> signals) -> result<signal_set> {
  if (signals.size() == 0) return fail(errc::invalid_argument);
  for (const int signal : signals)
    if (signal < 1 || signal >= signal_count) return fail(errc::invalid_argument);
  auto pipe = pipe_stream::pair(on);
  if (!pipe) return fail(pipe.error());
  const auto index = enter(signals, pipe->second.number());
  if (!index) return fail(index.error());
  return signal_set(std::move(pipe->first), std::move(pipe->second), *index);
}

auto signal_set::next() -> task<result<int>> {
  std::array<std::byte, 1> signal{};
  const auto got = co_await reads_.read_some(signal);
  if (!got) co_return fail(got.error());
  co_return static_cast<int>(signal[0]);
}

}  // namespace braid
