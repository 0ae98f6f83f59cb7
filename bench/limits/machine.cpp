// bench/limits/machine.cpp: what the machine itself takes for the steps that everything else is made of.
#include <bench/harness/percentiles.hpp>
#include <bench/harness/program.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using bench::parameters;
using bench::sample;

struct alignas(128) line {
  std::atomic<std::uint32_t> value{0};
};

/// So many times `step(i)`.
template <typename Step>
auto repeated(const parameters& given, Step step) -> sample {
  const std::uint64_t times = given.number("times", 10'000'000);
  return bench::timed(static_cast<double>(times), times, [&] {
    for (std::uint64_t i = 0; i < times; ++i) step(i);
    return times;
  });
}

[[gnu::noinline]] void nothing() { asm volatile("" : : : "memory"); }

auto call(const parameters& given) -> sample {
  return repeated(given, [](std::uint64_t) { nothing(); });
}

auto indirect_call(const parameters& given) -> sample {
  void (*function)() = nothing;
  return repeated(given, [&](std::uint64_t) {
    asm volatile("" : "+r"(function));
    function();
  });
}

auto exchange(const parameters& given) -> sample {
  line alone;
  return repeated(given, [&](std::uint64_t i) { alone.value.exchange(static_cast<std::uint32_t>(i)); });
}

/// What notes a time as cheaply as can be; a virtual machine may make it dear.
auto time_stamp(const parameters& given) -> sample {
  std::uint64_t last = 0;
  return repeated(given, [&](std::uint64_t) {
#if defined(__x86_64__)
    last = __builtin_ia32_rdtsc();
#else
    last = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
    asm volatile("" : : "r"(last));
  });
}

auto allocation(const parameters& given) -> sample {
  return repeated(given, [](std::uint64_t) {
    void* memory = std::malloc(64);
    asm volatile("" : "+r"(memory) : : "memory");
    std::free(memory);
  });
}

/// Two threads that answer each other through one line each; an item is one way.
auto line_transfer(const parameters& given) -> sample {
  const auto times = static_cast<std::uint32_t>(given.number("times", 100'000));
  line there;
  line back;
  const auto await = [](const line& where, std::uint32_t wanted) {
    constexpr int patience = 10'000;  // of looks; the other thread has no processor then
    for (int looks = 0; where.value.load(std::memory_order_acquire) != wanted; ++looks)
      if (looks > patience) std::this_thread::yield();
  };
  std::thread other([&] {
    for (std::uint32_t i = 1; i <= times; ++i) {
      await(there, i);
      back.value.store(i, std::memory_order_release);
    }
  });
  const sample measured = bench::timed(2.0 * times, times, [&] {
    for (std::uint32_t i = 1; i <= times; ++i) {
      there.value.store(i, std::memory_order_release);
      await(back, i);
    }
    return back.value.load();
  });
  other.join();
  return measured;
}

auto now_ns() -> std::int64_t {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A thread that sleeps in a futex until its word changes, and says when it ran again.
class sleeper {
 public:
  explicit sleeper(std::uint32_t times) : thread_([this, times] { sleep(times); }) {}
  ~sleeper() { thread_.join(); }
  sleeper(const sleeper&) = delete;
  auto operator=(const sleeper&) -> sleeper& = delete;

  void wake(std::uint32_t token) {
    word_.value.store(token);
    ::syscall(SYS_futex, &word_.value, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  /// When it ran for this turn; waits for that.
  [[nodiscard]] auto ran_at_ns(std::uint32_t token) const -> std::int64_t {
    while (token_.load() != token) std::this_thread::yield();
    return at_ns_.load();
  }

 private:
  void sleep(std::uint32_t times) {
    for (std::uint32_t seen = 0; seen < times;) {
      ::syscall(SYS_futex, &word_.value, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
      const std::uint32_t read = word_.value.load();
      if (read == seen) continue;
      seen = read;
      at_ns_.store(now_ns());
      token_.store(read);
    }
  }

  line word_;
  std::atomic<std::int64_t> at_ns_{0};
  std::atomic<std::uint32_t> token_{0};
  std::thread thread_;  // last: it uses the others
};

/// Medians: what the wake takes of the caller, and how long until the sleeper runs.
auto futex_wake(const parameters& given) -> sample {
  const auto times = static_cast<std::uint32_t>(given.number("times", 200));
  sleeper other(times);
  std::vector<double> caller_ns;
  std::vector<double> sleeper_ns;
  sample measured = bench::timed(1, times, [&] {
    for (std::uint32_t token = 1; token <= times; ++token) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      const std::int64_t begin = now_ns();
      other.wake(token);
      caller_ns.push_back(static_cast<double>(now_ns() - begin));
      sleeper_ns.push_back(static_cast<double>(other.ran_at_ns(token) - begin));
    }
    return static_cast<std::uint32_t>(sleeper_ns.size());
  });
  measured.extra = {{"caller_ns", bench::percentile(caller_ns, 0.5)},
                    {"sleeper_ns", bench::percentile(sleeper_ns, 0.5)}};
  return measured;
}

auto thread(const parameters& given) -> sample {
  const std::uint64_t times = given.number("times", 500);
  std::atomic<std::uint64_t> ran{0};
  return bench::timed(static_cast<double>(times), times, [&] {
    for (std::uint64_t i = 0; i < times; ++i) std::thread([&] { ++ran; }).join();
    return ran.load();
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender machine = bench::reference("machine");
  return bench::run_program(count, arguments, "limits",
                            {{"call", machine, call},
                             {"indirect_call", machine, indirect_call},
                             {"exchange", machine, exchange},
                             {"time_stamp", machine, time_stamp},
                             {"allocation", machine, allocation},
                             {"line_transfer", machine, line_transfer},
                             {"futex_wake", machine, futex_wake},
                             {"thread", machine, thread}});
}
