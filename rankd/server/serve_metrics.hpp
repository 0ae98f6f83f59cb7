// rankd/server/serve_metrics.hpp: what a server has answered, counted.
#pragma once

#include <rankd/server/admission_gate.hpp>
#include <rankd/server/exposition.hpp>

#include <braid/base/clock.hpp>
#include <braid/net/http_status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rankd {

/// Times, by how many are at most so long.
class time_histogram {
 public:
  /// In seconds; one more class is for all that is longer.
  static constexpr std::array bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                     0.05,   0.1,     0.25,   0.5,   1.0,    2.5,   5.0,  10.0};

  void add(braid::duration span) noexcept;
  void add(const time_histogram& other) noexcept;

  /// How many are at most as long as `bounds[at]`; `at == bounds.size()` for all.
  [[nodiscard]] auto up_to(std::size_t at) const noexcept -> std::uint64_t;
  [[nodiscard]] auto seconds() const noexcept -> double { return seconds_; }

 private:
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
  double seconds_ = 0;
};

/// The endpoints of a server; `other` for what leads to none.
enum class endpoint : std::uint8_t {
  rank,
  plans,
  plan,
  health,
  ready,
  metrics,
  openapi,
  versions,
  pin,
  unpin,
  roll_back,
  reload,
  other
};
[[nodiscard]] auto name_of(endpoint which) noexcept -> std::string_view;

/// The counts of one loop. Threads: any. Cost: an uncontended lock for each call.
class serve_metrics {
 public:
  /// An answer of any kind.
  void count_answer(endpoint which, braid::http_status status);
  /// How long one took, from the head of its request on.
  void count_time(endpoint which, braid::duration took);
  /// The end of a request that came as far as its plan; `code` is `ok`, or why there are no candidates. The names of
  /// plans are those of a server's plans, so that there are not too many.
  void count_run(std::string_view plan, std::string_view code, braid::duration took, std::size_t candidates);
  /// A request that was refused for want of room, or whose deadline passed while it waited.
  void note_gate(const admission_counts& now);

  /// Writes the sums of all loops.
  static void write(exposition& out, std::span<serve_metrics* const> loops);

 private:
  struct plan_figures {
    std::map<std::string, std::uint64_t, std::less<>> codes;
    time_histogram times;
    std::uint64_t candidates = 0;
  };
  using answer_key = std::pair<endpoint, int>;

  void add_to(serve_metrics& sums) const;

  mutable std::mutex mutex_;
  std::map<answer_key, std::uint64_t> answers_;
  std::map<endpoint, time_histogram> times_;
  std::map<std::string, plan_figures, std::less<>> plans_;
  admission_counts gate_;
};

/// Figures of this process, by the names that Prometheus has for them.
void write_process_figures(exposition& out);

}  // namespace rankd
