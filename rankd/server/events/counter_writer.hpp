// rankd/server/events/counter_writer.hpp: sends to Redis the changes that events cause by rules.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/server/events/event.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/server/files/serve_log.hpp>
#include <rankd/store/redis_options.hpp>

#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/future.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace rankd {

struct counter_counts {
  std::uint64_t written = 0;
  std::uint64_t lost = 0;  ///< steps for which the queue had no room, or that Redis has refused
};

/// A queue of steps, and a runtime of one worker that sends them to Redis as the commands of `step_kinds`. A step is
/// sent at most once. If a connection ends while steps are being sent, these steps are counted as lost, but their
/// events remain in the event log. A failure is logged (`counters_failed`). Further failures are not logged until a
/// step has been written successfully.
/// Threads: any. Lifetime: rules and log outlive it.
class counter_writer {
 public:
  static constexpr std::size_t max_waiting = 100'000;  ///< the maximum number of queued steps

  /// Resolves the endpoints of the rules whose values are in Redis. Returns null if there are no such rules. All other
  /// rules are handled by `embedded_counters`. Blocks: on name resolution. Errors: those of `parse_redis_options`,
  /// no_runtime.
  static auto start(const event_rules& rules, const registries& declared, serve_log log)
      -> braid::checked<std::unique_ptr<counter_writer>>;
  /// Writes the queued steps, but gives up after one second.
  ~counter_writer();
  counter_writer(const counter_writer&) = delete;
  auto operator=(const counter_writer&) -> counter_writer& = delete;

  /// Queues the steps whose values are in Redis. Blocks: for an uncontended lock.
  void add(std::vector<rule_step> steps);

  [[nodiscard]] auto counts() const -> counter_counts;

 private:
  class connections;

  counter_writer(const event_rules& rules, serve_log log) : rules_(&rules), log_(log) {}
  auto work() -> braid::task<void>;
  auto take() -> std::vector<rule_step>;
  void settle(std::size_t written, std::size_t lost, std::string_view reason);
  [[nodiscard]] auto is_ending() const -> bool;

  const event_rules* rules_;
  const serve_log log_;
  std::map<std::size_t, redis_address> servers_;  // by the position of the endpoint
  bool is_reported_ = false;                      // whether a failure of Redis was logged; used by the loop

  mutable std::mutex mutex_;  // guards all members below
  std::deque<rule_step> waiting_;
  counter_counts counts_;
  bool ending_ = false;

  std::unique_ptr<braid::runtime> runtime_;
  std::optional<braid::future<void>> works_;
};

}  // namespace rankd
