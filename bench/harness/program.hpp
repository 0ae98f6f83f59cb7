// bench/harness/program.hpp: a measuring program that speaks the protocol of bench/README.md: what it can measure, and
// the main function that reads a command line and prints a line of JSON for each run.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

/// What one run measured.
struct sample {
  double items = 1;
  double wall_ns = 0;
  double cpu_ns = 0;                      ///< of all threads of the process
  bool is_right = false;                  ///< whether the run computed what it should
  std::map<std::string, double> extra{};  ///< figures of other kinds, by name; the unit is the last word
};

/// What the command line says about the case, and a note of what was asked for.
class parameters {
 public:
  explicit parameters(std::map<std::string, std::string> given) : given_(std::move(given)) {}

  /// Ends the program where what was given is no number.
  [[nodiscard]] auto number(const std::string& name, std::uint64_t otherwise) const -> std::uint64_t;
  [[nodiscard]] auto word(const std::string& name, const std::string& otherwise) const -> std::string;
  [[nodiscard]] auto workers() const -> unsigned { return static_cast<unsigned>(number("workers", 1)); }

  /// What the runs used, given or not, as the members of a JSON object.
  [[nodiscard]] auto used_as_json() const -> std::string;

  /// The first that was given and that no caller asked for; empty where there is none.
  [[nodiscard]] auto unused() const -> std::string;

 private:
  std::map<std::string, std::string> given_;
  mutable std::map<std::string, std::string> used_;
};

/// The origin of a contender: braid, another library, or a bound on both, such as a plain loop.
enum class kind : std::uint8_t { ours, rival, reference };

struct contender {
  std::string name;
  bench::kind kind;
  std::string version;
};

/// One case, as one contender solves it. Starting and stopping threads is not part of the time, unless the case says
/// so.
struct solution {
  std::string name;  ///< of the case
  contender who;
  std::function<sample(const parameters&)> run;
};

/// The braid that this was compiled with.
auto braid_contender(std::string name = "braid") -> contender;
auto reference(std::string name) -> contender;

/// The main function of a program. 2 for a wrong command line, 1 where a result was wrong.
auto run_program(int count, char** arguments, std::string_view subject, const std::vector<solution>& solutions) -> int;

namespace detail {

inline auto cpu_ns(clockid_t of) -> double {
  std::timespec read{};
  ::clock_gettime(of, &read);
  return static_cast<double>(read.tv_sec) * 1e9 + static_cast<double>(read.tv_nsec);
}
inline auto process_cpu_ns() -> double { return cpu_ns(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace detail

/// What the calling thread has had of processors.
inline auto thread_cpu_ns() -> double { return detail::cpu_ns(CLOCK_THREAD_CPUTIME_ID); }

/// How long `fn` takes; right when it gives `expected`.
template <typename Fn, typename T>
auto timed(double items, const T& expected, Fn&& fn) -> sample {
  const double cpu_begin = detail::process_cpu_ns();
  const auto begin = std::chrono::steady_clock::now();
  const auto result = std::forward<Fn>(fn)();
  const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - begin;
  return {.items = items,
          .wall_ns = wall.count(),
          .cpu_ns = detail::process_cpu_ns() - cpu_begin,
          .is_right = result == expected};
}

}  // namespace bench
