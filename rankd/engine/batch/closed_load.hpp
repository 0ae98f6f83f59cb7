// rankd/engine/batch/closed_load.hpp: a closed-loop load test, in which each client sends its next request after it has
// received the answer to the previous request.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/options.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/store/store.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/runtime/runtime.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rankd {

struct closed_load_options {
  unsigned clients = 1;
  unsigned loops = 1;    ///< each loop has its own thread; clients are distributed over the loops
  unsigned workers = 1;  ///< worker threads of each loop
  std::chrono::nanoseconds warm_up = std::chrono::milliseconds(100);
  std::chrono::nanoseconds duration = std::chrono::seconds(1);  ///< longer if a client has no answer at the end
  /// The test ends early after this number of requests. Requests of the warm-up do not count.
  std::uint64_t max_requests = UINT64_MAX;
  engine_options engine = {};
};

/// The result of one request of a client.
struct load_answer {
  std::size_t bytes = 0;
  std::optional<std::string> failure = {};  ///< the error in the answer, or why there is no answer
};

/// Answers the clients of one loop. Threads: only the loop's thread, which also creates and destroys the object.
class load_target {
 public:
  load_target() = default;
  load_target(const load_target&) = delete;
  auto operator=(const load_target&) -> load_target& = delete;
  virtual ~load_target() = default;

  /// Answers one request. Lifetime: `request` must outlive the task.
  virtual auto answer(const std::string& request) -> braid::task<load_answer> = 0;
};
using make_load_target = std::function<std::unique_ptr<load_target>(braid::runtime& runtime)>;

/// Returns a percentile of ascending latencies, for example 0.5 for the median and 1 for the maximum. Returns zero if
/// there are no latencies.
[[nodiscard]] auto find_latency(std::span<const std::chrono::nanoseconds> ascending, double part)
    -> std::chrono::nanoseconds;

/// The result of a load test.
struct closed_load_result {
  std::uint64_t failed = 0;
  std::string first_failure;  ///< the first failure of any client
  std::chrono::nanoseconds total{};
  std::vector<std::chrono::nanoseconds> latencies;  ///< the latency of each answer, ascending
  std::uint64_t answer_bytes = 0;                   ///< total size of all answers

  [[nodiscard]] auto per_second() const -> double;
  [[nodiscard]] auto latency(double part) const -> std::chrono::nanoseconds { return find_latency(latencies, part); }
};

/// Sends the requests one after another, and starts again after the last one. A latency is measured from the moment at
/// which the client could send the request, so it includes the time until the client's task runs.
/// Requires at least one request and one client. Blocks: until the test is over. Errors: no_runtime.
auto run_closed_load(const make_load_target& target, std::span<const std::string> requests,
                     const closed_load_options& options) -> braid::checked<closed_load_result>;

/// Tests a plan in this process. A latency includes parsing the request from JSON, running the plan, and writing the
/// answer as JSON.
auto run_closed_load(const bound_plan& plan, const registries& declared, const std::vector<store*>& stores,
                     std::span<const std::string> requests, const closed_load_options& options)
    -> braid::checked<closed_load_result>;

}  // namespace rankd
