// tests/support/case_limit.hpp: ends a program one of whose test cases hangs, and says which.
#pragma once

#include <tests/support/sanitizer.hpp>
#include <tests/support/seed.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/time.h>
#include <unistd.h>

namespace braid::testing {

/// The limit on a case of a program, by its name: `layer/pool_test.variant`. Tests that are to take under a second get
/// 300, because a slow machine that is busy with builds needs more than 100 for some of them; under a sanitizer they
/// get 500. Model tests that take a minute at most get 240, four times as much under a sanitizer. Stresses have
/// watchdogs of their own.
/// BRAID_WATCHDOG says another number of seconds, and 0 that there is no limit. 0: none.
inline auto seconds_for_a_case(std::string_view program) -> double {
  if (const auto asked = number_from_environment("BRAID_WATCHDOG")) return *asked;
  const std::string_view file = program.substr(program.rfind('/') + 1);
  const std::string_view stem = file.substr(0, file.find('.'));
  const bool sanitized = under_address_sanitizer || under_thread_sanitizer;
  if (stem.ends_with("_test")) return sanitized ? 500 : 300;
  const double longer = std::max(number_from_environment("BRAID_STRESS").value_or(1), 1.0);
  if (stem.ends_with("_model")) return (sanitized ? 960 : 240) * longer;
  return 0;
}

/// A timer of the process, which needs no thread: tests fork, count threads, and run out of them. Children begin
/// without it. The handler calls nothing but what a signal handler may.
class case_limit {
 public:
  explicit case_limit(double seconds) : seconds_(seconds) {
    if (seconds_ <= 0) return;
    struct sigaction action{};
    action.sa_handler = &expire;
    ::sigaction(SIGALRM, &action, nullptr);
  }

  void begin(const char* name) {
    const int length = std::snprintf(sentence_.data(), sentence_.size(),
                                     "watchdog: the case \"%s\" is not done after %g s: it hangs\n", name, seconds_);
    length_ = std::clamp<std::size_t>(static_cast<std::size_t>(length), 0, sentence_.size() - 1);
    set(seconds_);
  }

  void end() const { set(0); }

 private:
  void set(double seconds) const {
    if (seconds_ <= 0) return;
    constexpr double microseconds = 1e6;
    const auto whole = static_cast<::time_t>(seconds);
    const auto rest = static_cast<::suseconds_t>((seconds - static_cast<double>(whole)) * microseconds);
    const ::itimerval once{.it_interval = {}, .it_value = {.tv_sec = whole, .tv_usec = rest}};
    ::setitimer(ITIMER_REAL, &once, nullptr);
  }

  static void expire(int /*signal*/) {
    static_cast<void>(::write(2, sentence_.data(), length_) == 0);
    std::signal(SIGABRT, SIG_DFL);  // the test framework's handler allocates, which what hangs may keep it from
    std::abort();
  }

  static inline std::array<char, 512> sentence_{};
  static inline std::size_t length_ = 0;
  const double seconds_;
};

}  // namespace braid::testing
