// bench/harness/rounds.hpp: runs contenders in turn and prints medians, minima and ratios of the same rounds.
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace bench {

/// What the command line says.
struct options {
  unsigned size;
  unsigned rounds = 7;
  unsigned workers = 0;  ///< 0: one, then two
  unsigned time_limit_s = 300;
};

/// One run: how long it took and what it computed.
struct sample {
  double ns = 0;
  std::uint64_t result = 0;
};

/// A contender runs the problem once with so many workers; starting and stopping them is not part of the time.
struct contender {
  std::string name;
  std::function<sample(unsigned workers)> run;
};

/// What is measured.
struct problem {
  std::string_view name;
  double items;            ///< times are given by item
  std::uint64_t expected;  ///< what each run must compute
};

template <typename Fn>
auto timed(Fn&& fn) -> sample {
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t result = std::forward<Fn>(fn)();
  const auto end = std::chrono::steady_clock::now();
  return {std::chrono::duration<double, std::nano>(end - begin).count(), result};
}

namespace detail {

[[noreturn]] inline void usage(const char* program, const options& defaults, const char* size_means, int status) {
  std::fprintf(status == 0 ? stdout : stderr,
               "usage: %s [OPTIONS]\n\n"
               "  --size N         %s (default %u)\n"
               "  --rounds N       how often each contender runs, in turn (default %u)\n"
               "  --workers N      with so many workers only (default: one, then two)\n"
               "  --time-limit N   ends the program after so many seconds (default %u)\n"
               "  --help           this text\n",
               program, size_means, defaults.size, defaults.rounds, defaults.time_limit_s);
  std::exit(status);
}

/// Ends the program after so many seconds, and says why.
inline void limit_time(unsigned seconds) {
  std::signal(SIGALRM, [](int) {
    constexpr std::string_view text = "the time limit is over\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(1);
  });
  ::alarm(seconds);
}

inline auto median_of(std::vector<double> values) -> double {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace detail

/// The options that were given, over `defaults`. Ends the program on a wrong one, and when its time is over.
inline auto parse(int count, char** arguments, options defaults, const char* size_means) -> options {
  options parsed = defaults;
  const std::map<std::string_view, unsigned*> known{{"--size", &parsed.size},
                                                    {"--rounds", &parsed.rounds},
                                                    {"--workers", &parsed.workers},
                                                    {"--time-limit", &parsed.time_limit_s}};
  for (int i = 1; i < count; i += 2) {
    if (std::strcmp(arguments[i], "--help") == 0) detail::usage(arguments[0], defaults, size_means, 0);
    const auto found = known.find(arguments[i]);
    if (found == known.end() || i + 1 == count) detail::usage(arguments[0], defaults, size_means, 2);
    const char* end = arguments[i + 1] + std::strlen(arguments[i + 1]);
    const auto read = std::from_chars(arguments[i + 1], end, *found->second);
    if (read.ptr != end || read.ec != std::errc{} || (*found->second == 0 && found->first != "--workers"))
      detail::usage(arguments[0], defaults, size_means, 2);
  }
  detail::limit_time(parsed.time_limit_s);
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what was measured is seen although the time ends
  return parsed;
}

/// Runs all contenders in turn, `rounds` times after a warm-up, and prints a line for each. The first one is the
/// reference of the ratios. Ends the program when a result is wrong.
inline void compare(const problem& what, unsigned workers, unsigned rounds, const std::vector<contender>& contenders) {
  std::vector<std::vector<double>> times(contenders.size());
  for (unsigned round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const sample measured = contenders[i].run(workers);
      if (measured.result != what.expected) {
        std::fprintf(stderr, "%s: wrong result\n", contenders[i].name.c_str());
        std::exit(1);
      }
      if (round > 0) times[i].push_back(measured.ns / what.items);
    }
  }
  std::printf("%.*s, workers: %u, rounds: %u\n", static_cast<int>(what.name.size()), what.name.data(), workers, rounds);
  std::printf("  %-12s %10s %10s %14s %10s\n", "contender", "min ns", "median ns", "min to serial", "min ms");
  const double reference = std::ranges::min(times[0]);
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const double least = std::ranges::min(times[i]);
    std::printf("  %-12s %10.2f %10.2f %14.2f %10.1f\n", contenders[i].name.c_str(), least, detail::median_of(times[i]),
                least / reference, least * what.items / 1e6);
  }
}

/// As `compare`, for each number of workers that was asked for.
inline void compare_all(const problem& what, const options& how, const std::vector<contender>& contenders) {
  for (const unsigned workers : how.workers == 0 ? std::vector<unsigned>{1, 2} : std::vector<unsigned>{how.workers})
    compare(what, workers, how.rounds, contenders);
}

}  // namespace bench
