// rankd/server/metrics/serve_metrics.hpp: what a server has answered, counted.
#pragma once

#include <rankd/engine/ranking.hpp>
#include <rankd/server/admission/admission_gate.hpp>
#include <rankd/server/endpoints/endpoint.hpp>
#include <rankd/server/metrics/exposition.hpp>
#include <rankd/server/studio/plan_source.hpp>
#include <rankd/server/metrics/time_histogram.hpp>

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
  /// An answer of any kind.
  void count_answer(endpoint which, braid::http_status status);
  /// The end of a request to rank, or of a call with a batch: its answer, 0 for none, how long it took from its head
  /// on, and the requests at the gate now.
  void count_end(endpoint which, braid::http_status status, braid::duration took, const admission_counts& now,
                 std::size_t unread);
  /// The requests that came by one call.
  void count_batch(std::size_t requests);
  /// The end of a request that came as far as its plan; `code` is `ok`, or why there are no candidates. The names of
  /// plans are those of a server's plans, so that there are not too many.
  void count_run(std::string_view plan, std::string_view code, braid::duration took, std::size_t candidates);
  /// The arms that a run was in by its unit. Those that its request names are left out: they say nothing about units.
  void count_arms(const plan_experiments& running, std::span<const chosen_arm> arms);
  /// What stood in for nodes and plans that had failed.
  void count_degraded(std::string_view plan, std::span<const degradation> all);
  /// What a run has met in stores that was none of its kind.
  void count_malformed(std::string_view plan, std::uint64_t ids, std::uint64_t values);
  /// One that was refused because its plan has enough of them.
  void count_refusal(std::string_view plan, std::string_view code);
  /// What the nodes of a plan did for a request. Requests that end on a version which does not serve any more are left
  /// out, so that no node stays that is gone.
  void count_nodes(const bound_plan& plan, std::span<const node_sample> nodes, const plan_source& serving);
  /// The requests at the gate now; `unread` connections wait to be read from again.
  void note_gate(const admission_counts& now, std::size_t unread);

  /// Writes the sums of all loops.
  static void write(exposition& out, std::span<serve_metrics* const> loops);
  /// Writes the sums for the nodes of these plans, and forgets those of others.
  static void write_nodes(exposition& out, std::span<serve_metrics* const> loops, std::span<const known_plan> serving);

  /// So many nodes of a plan are reported one by one, the first ones of its order; the others as one.
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
  /// Of one version of a plan.
  struct plan_nodes_seen {
    std::string digest;
    std::map<std::string, std::size_t, std::less<>> names;  // where each node stands in `counts`
    std::vector<std::size_t> places;                        // the same, by number of the node
    std::vector<node_counts> counts;
  };
  struct plan_metrics {
    std::map<std::string, std::uint64_t, std::less<>> codes;
    time_histogram times;
    std::uint64_t candidates = 0;
    std::uint64_t malformed_ids = 0;
    std::uint64_t malformed_values = 0;
  };
  using answer_key = std::pair<endpoint, int>;

  auto count_code(std::string_view plan, std::string_view code) -> plan_metrics&;
  void add_to(serve_metrics& sums) const;
  static auto made_for(const bound_plan& plan, const plan_nodes_seen* before) -> plan_nodes_seen;
  void add_nodes_to(std::string_view plan, plan_nodes_seen& sums) const;
  void forget_others(std::span<const known_plan> serving);

  mutable std::mutex mutex_;
  std::map<answer_key, std::uint64_t> answers_;
  std::map<endpoint, time_histogram> times_;
  std::uint64_t in_batches_ = 0;  // requests
  std::map<std::string, plan_metrics, std::less<>> plans_;
  std::map<std::string, plan_nodes_seen, std::less<>> nodes_;         // by plan
  std::map<std::string, std::map<std::string, std::uint64_t>> arms_;  // by experiment and arm
  std::map<std::array<std::string, 3>, std::uint64_t> fallbacks_;     // by plan, node (empty: the plan) and code
  admission_counts gate_;
  std::size_t unread_ = 0;  // connections
};

/// Figures of this process, by the names that Prometheus has for them.
void write_process_metrics(exposition& out);

}  // namespace rankd
