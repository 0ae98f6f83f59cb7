// rankd/server/metrics/serve_metrics.hpp: counts the answers of a server.
#pragma once

#include <rankd/engine/ranking.hpp>
#include <rankd/server/admission/admission_gate.hpp>
#include <rankd/server/endpoints/endpoint.hpp>
#include <rankd/server/metrics/exposition.hpp>
#include <rankd/server/studio/plan_source.hpp>
#include <rankd/server/metrics/histogram.hpp>

#include <braid/base/clock.hpp>
#include <braid/net/http_message.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// The counts of one loop. Threads: any. Cost: an uncontended lock for each call.
class serve_metrics {
 public:
  /// Counts an answer of any endpoint.
  void count_answer(endpoint endpoint, braid::http_status status) noexcept;
  /// Counts the end of a request to rank, or of a batch call. `status` is 0 if there was no answer, and `took` is
  /// measured from the arrival of the HTTP head. Also records the current state of the gate.
  void count_end(endpoint endpoint, braid::http_status status, braid::duration took, const admission_counts& now,
                 std::size_t unread) noexcept;
  /// Counts the requests of one batch call.
  void count_batch(std::size_t requests);
  /// Counts the end of a request that reached its plan. `code` is `ok`, or the reason why there are no candidates. Only
  /// existing plans are counted by name, so that requests cannot create an unlimited number of metrics.
  void count_run(std::string_view plan, std::string_view code, braid::duration took, std::size_t candidates);
  /// Counts the arms to which experiments assigned a run. Arms that the request chooses explicitly are left out,
  /// because they say nothing about the assignment.
  void count_arms(const plan_experiments& running, std::span<const chosen_arm> arms);
  /// Counts the fallbacks that were used for failed nodes and plans.
  void count_degraded(std::string_view plan, std::span<const degradation> all);
  /// Counts the malformed values that a run has found in stores.
  void count_malformed(std::string_view plan, std::uint64_t ids, std::uint64_t values);
  /// Counts a request that was refused because its plan has reached its limit.
  void count_refusal(std::string_view plan, std::string_view code);
  /// Counts the runs, rows and times of a plan's nodes for one request. Ignores requests that ran on a version that is
  /// no longer served, so that removed nodes do not reappear.
  void count_nodes(const bound_plan& plan, std::span<const node_sample> nodes, const plan_source& serving);
  /// Records the current state of the gate. `unread` is the number of connections whose reading is paused.
  void note_gate(const admission_counts& now, std::size_t unread);

  /// Writes the metrics, summed over all loops.
  static void write(exposition& out, std::span<serve_metrics* const> loops);
  /// Writes the node metrics of these plans, summed over all loops, and removes the metrics of all other plans.
  static void write_nodes(exposition& out, std::span<serve_metrics* const> loops, std::span<const known_plan> serving);

  /// The maximum number of nodes of a plan that have their own metrics. These are the first nodes in the plan's order;
  /// all other nodes are counted together.
  static constexpr std::size_t max_listed_nodes = 256;

 private:
  struct node_counts {
    std::uint64_t runs = 0;
    std::uint64_t errors = 0;
    std::uint64_t rows = 0;
    std::uint64_t retries = 0;
    part_histogram queue;
    part_histogram work;

    void add(const node_sample& one) noexcept;
    void add(const node_counts& other) noexcept;
  };
  /// The counts of one version of a plan.
  struct plan_nodes_seen {
    std::string digest;
    std::map<std::string, std::size_t, std::less<>> names;  // the index of each node in `counts`
    std::vector<std::size_t> places;  // the index of each node in `counts`, by the number of the node
    std::vector<node_counts> counts;
  };
  struct plan_metrics {
    std::map<std::string, std::uint64_t, std::less<>> codes;
    request_histogram times;
    std::uint64_t candidates = 0;
    std::uint64_t malformed_ids = 0;
    std::uint64_t malformed_values = 0;
  };
  /// Counts the answers of one endpoint by status. Counting allocates no memory, so that requests for which memory ran
  /// out are counted, too. The last two digits of each status that this server sends are at most 31, so 32 counters for
  /// each hundred suffice.
  class answer_counts {
   public:
    [[nodiscard]] static constexpr auto size() noexcept -> std::size_t { return 5 * per_hundred; }
    [[nodiscard]] static auto status_at(std::size_t slot) noexcept -> int {
      return static_cast<int>((slot / per_hundred + 1) * 100 + slot % per_hundred);
    }
    auto operator[](braid::http_status status) noexcept -> std::uint64_t& {
      const auto number = static_cast<std::size_t>(status);
      return counts_[(number / 100 - 1) * per_hundred + number % 100];
    }
    auto at(std::size_t slot) noexcept -> std::uint64_t& { return counts_[slot]; }
    [[nodiscard]] auto at(std::size_t slot) const noexcept -> std::uint64_t { return counts_[slot]; }

   private:
    static constexpr std::size_t per_hundred = 32;
    std::array<std::uint64_t, 5 * per_hundred> counts_{};
  };
  static constexpr std::size_t endpoints = static_cast<std::size_t>(endpoint::other) + 1;

  auto count_code(std::string_view plan, std::string_view code) -> plan_metrics&;
  void add_to(serve_metrics& sums) const;
  void write_endpoints(exposition& out) const;
  static auto made_for(const bound_plan& plan, const plan_nodes_seen* before) -> plan_nodes_seen;
  void add_nodes_to(std::string_view plan, plan_nodes_seen& sums) const;
  void forget_others(std::span<const known_plan> serving);

  mutable std::mutex mutex_;
  std::array<answer_counts, endpoints> answers_{};
  std::array<request_histogram, endpoints> times_{};
  std::uint64_t in_batches_ = 0;  // requests in batches
  std::map<std::string, plan_metrics, std::less<>> plans_;
  std::map<std::string, plan_nodes_seen, std::less<>> nodes_;         // by plan name
  std::map<std::string, std::map<std::string, std::uint64_t>> arms_;  // by experiment and arm
  std::map<std::array<std::string, 3>, std::uint64_t> fallbacks_;     // by plan, node (empty: the plan) and code
  admission_counts gate_;
  std::size_t unread_ = 0;  // connections whose reading is paused
};

/// Writes metrics of this process, with the names that Prometheus defines for them.
void write_process_metrics(exposition& out);

}  // namespace rankd
