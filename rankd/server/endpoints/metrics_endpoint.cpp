// rankd/server/endpoints/metrics_endpoint.cpp: GET /metrics: writes the metrics of all loops and of the parts that they
// share.
#include <rankd/server/detail/handlers.hpp>
#include <rankd/server/detail/shard.hpp>

#include <rankd/server/files/arrow_file.hpp>
#include <rankd/server/events/counter_writer.hpp>
#include <rankd/server/events/embedded_counters.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/server/metrics/exposition.hpp>
#include <rankd/server/records/record_writer.hpp>
#include <rankd/server/store_follower.hpp>
#include <rankd/server/vector_merger.hpp>

#include <braid/runtime/default_runtime.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd::detail {
namespace {

using kind = exposition::kind;

void write_loops(exposition& out, const serve_shared& shared) {
  std::vector<serve_metrics*> loops;
  for (const auto& each : shared.shards) loops.push_back(&each->context().metrics);
  serve_metrics::write(out, loops);
  const std::vector<known_plan> plans = shared.context.plans->list();
  serve_metrics::write_nodes(out, loops, plans);
  out.family("rankd_plans_left_out", kind::gauge, "Plans whose newest artifact is invalid.");
  out.sample({}, static_cast<double>(
                     std::ranges::count_if(plans, [](const known_plan& each) { return !each.problems.empty(); })));
}

/// Writes which version of each plan this server serves, so that a half-finished rollout over several servers can be
/// noticed.
void write_plans(exposition& out, const serve_shared& shared) {
  out.family("rankd_plan_info", kind::gauge, "1 for each served plan; the label `digest` identifies its version.");
  for (const known_plan& each : shared.context.plans->list())
    if (each.bound) out.sample({{"plan", each.name}, {"digest", each.bound->digest}}, 1);
}

/// Writes the metrics of hedged reads, for the endpoints that hedging nodes read.
void write_hedges(exposition& out, std::vector<std::pair<std::string_view, read_counts>> counts) {
  std::erase_if(counts, [](const auto& each) { return each.second.hedged + each.second.unhedged == 0; });
  if (counts.empty()) return;
  out.family("rankd_store_hedges_total", exposition::kind::counter,
             "Reads that were not answered within the hedging delay of their plan, by result.");
  for (const auto& [name, sum] : counts) {
    const auto sample = [&](std::string_view result, std::uint64_t count) {
      out.sample({{"endpoint", name}, {"result", result}}, static_cast<double>(count));
    };
    sample("won", sum.won);
    sample("lost", sum.hedged - sum.won);
    sample("refused", sum.unhedged);
  }
}

/// Writes the metrics of the endpoints whose values are cached.
void write_records(exposition& out, const std::vector<std::pair<std::string_view, record_cache_counts>>& all) {
  if (all.empty()) return;
  out.family("rankd_record_cache_keys_total", kind::counter, "Keys that reads requested from a store, by result.");
  for (const auto& [name, sum] : all) {
    const auto sample = [&](std::string_view result, std::uint64_t count) {
      out.sample({{"endpoint", name}, {"result", result}}, static_cast<double>(count));
    };
    sample("hit", sum.hits);
    sample("miss", sum.misses);
    sample("shared", sum.joined);
  }
  out.family("rankd_record_cache_dropped_total", kind::counter,
             "Keys that were removed from the record cache, by reason.");
  for (const auto& [name, sum] : all) {
    out.sample({{"endpoint", name}, {"reason", "space"}}, static_cast<double>(sum.evicted));
    out.sample({{"endpoint", name}, {"reason", "changed"}}, static_cast<double>(sum.changed));
  }
  const auto family = [&](std::string_view metric, kind what, std::string_view help,
                          std::uint64_t record_cache_counts::* member) {
    out.family(metric, what, help);
    for (const auto& [name, sum] : all) out.sample({{"endpoint", name}}, static_cast<double>(sum.*member));
  };
  family("rankd_record_cache_emptied_total", kind::counter,
         "How often a record cache was emptied because change notifications may have been lost.",
         &record_cache_counts::emptied);
  family("rankd_record_cache_bytes", kind::gauge, "Bytes of the values and keys in the record cache.",
         &record_cache_counts::bytes);
  family("rankd_record_cache_entries", kind::gauge, "Keys in the record cache.", &record_cache_counts::entries);
  out.family("rankd_record_cache_tracked", kind::gauge,
             "1 if every record cache receives change notifications from its servers, otherwise 0.");
  for (const auto& [name, sum] : all) out.sample({{"endpoint", name}}, sum.tracked == sum.caches ? 1.0 : 0.0);
}

void write_endpoints(exposition& out, const serve_shared& shared) {
  std::vector<std::pair<std::string_view, endpoint_metrics>> all;
  std::vector<std::pair<std::string_view, read_counts>> reads;  // of endpoints whose reads are shared
  std::vector<std::pair<std::string_view, record_cache_counts>> records;
  const auto& stores = shared.shards.front()->context().stores;
  for (std::size_t at = 0; at < stores.size(); ++at) {
    if (!stores[at]) continue;
    auto& [name, sum] = all.emplace_back(shared.context.declared->endpoints()[at].endpoint_id, endpoint_metrics());
    for (const auto& each : shared.shards) sum.add(each->context().stores[at]->metrics());
    if (stores[at]->answers_at_once() || !is_store(shared.context.declared->endpoints()[at])) continue;
    auto& [same_name, counts] = reads.emplace_back(name, read_counts());
    record_cache_counts kept;
    for (const auto& each : shared.shards) {
      counts.add(each->context().count_reads(at));
      kept.add(each->context().find_records(at));
    }
    if (kept.caches != 0) records.emplace_back(name, kept);
  }
  out.family("rankd_endpoint_duration_seconds", kind::histogram, "Time from a call of an endpoint to its answer.");
  for (const auto& [name, sum] : all) out.histogram({{"endpoint", name}}, sum.times.buckets(), sum.times.seconds());
  out.family("rankd_endpoint_errors_total", kind::counter, "Answers of endpoints that were errors.");
  for (const auto& [name, sum] : all) out.sample({{"endpoint", name}}, static_cast<double>(sum.errors));
  out.family("rankd_endpoint_late_total", kind::counter, "Calls of endpoints that ended too late for their requests.");
  for (const auto& [name, sum] : all) out.sample({{"endpoint", name}}, static_cast<double>(sum.late));
  out.family("rankd_endpoint_in_flight", kind::gauge, "Calls that an endpoint has not answered yet.");
  for (const auto& [name, sum] : all) out.sample({{"endpoint", name}}, static_cast<double>(sum.in_flight));
  if (reads.empty()) return;
  out.family("rankd_store_reads_total", kind::counter,
             "Reads that nodes have requested from a store, including shared reads.");
  for (const auto& [name, sum] : reads) out.sample({{"endpoint", name}}, static_cast<double>(sum.asked));
  out.family("rankd_store_reads_shared_total", kind::counter, "Reads that shared the answer of an identical read.");
  for (const auto& [name, sum] : reads) out.sample({{"endpoint", name}}, static_cast<double>(sum.shared));
  write_hedges(out, reads);
  write_records(out, records);
}

void write_scrub(exposition& out, const serve_shared& shared) {
  if (shared.context.scrubber == nullptr) return;
  const std::vector<scrub_counts> all = shared.context.scrubber->counts();
  out.family("rankd_store_scrubbed_bytes_total", kind::counter,
             "Bytes of stores that were read again to verify their checksums.");
  for (const auto& each : all) out.sample({{"endpoint", each.endpoint_id}}, static_cast<double>(each.bytes));
  out.family("rankd_store_scrub_rounds_total", kind::counter,
             "How often the checksums of a whole store were verified.");
  for (const auto& each : all) out.sample({{"endpoint", each.endpoint_id}}, static_cast<double>(each.rounds));
  out.family("rankd_store_damaged", kind::gauge, "1 if the store is damaged and answers no requests.");
  for (const auto& each : all) out.sample({{"endpoint", each.endpoint_id}}, each.is_damaged ? 1.0 : 0.0);
}

void write_generations(exposition& out, const serve_shared& shared) {
  if (shared.context.follower == nullptr) return;
  const std::vector<follow_counts> all = shared.context.follower->counts();
  if (all.empty()) return;
  out.family("rankd_store_generation", kind::gauge, "The generation of an embedded store that answers requests.");
  for (const auto& each : all) out.sample({{"endpoint", each.endpoint_id}}, static_cast<double>(each.state.generation));
  out.family("rankd_store_records", kind::gauge, "Keys in the generation of the store that answers requests.");
  for (const auto& each : all) out.sample({{"endpoint", each.endpoint_id}}, static_cast<double>(each.state.records));
  out.family("rankd_store_age_seconds", kind::gauge,
             "Time since the data file of the generation that answers requests was written.");
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const auto& each : all)
    out.sample({{"endpoint", each.endpoint_id}},
               std::max(std::chrono::duration<double>(now - each.state.made).count(), 0.0));
  out.family("rankd_store_changes_total", kind::counter,
             "Attempts to change to a new generation, by result: `done`, or `refused` if it could not be opened.");
  for (const auto& each : all) {
    out.sample({{"endpoint", each.endpoint_id}, {"result", "done"}}, static_cast<double>(each.changes));
    out.sample({{"endpoint", each.endpoint_id}, {"result", "refused"}}, static_cast<double>(each.refused));
  }
}

/// Writes the metrics of the files of vectors that have a list of changes.
void write_merges(exposition& out, const serve_shared& shared) {
  if (shared.context.merger == nullptr) return;
  const std::vector<merge_counts> all = shared.context.merger->counts();
  if (all.empty()) return;
  const auto family = [&](std::string_view metric, kind what, std::string_view help, const auto& value) {
    out.family(metric, what, help);
    for (const auto& each : all) out.sample({{"endpoint", each.endpoint_id}}, static_cast<double>(value(each)));
  };
  family("rankd_vectors_generation", kind::gauge, "Number of successive vector files that this process has served.",
         [](const merge_counts& counts) { return counts.generation; });
  family("rankd_vectors_listed", kind::gauge, "Ids in the list of changes to a vector file.",
         [](const merge_counts& counts) { return counts.listed; });
  family("rankd_vectors_merge_seconds_total", kind::counter, "Time that this process has spent in merges.",
         [](const merge_counts& counts) { return std::chrono::duration<double>(counts.merging).count(); });
  out.family("rankd_vectors_merges_total", kind::counter,
             "Attempts to merge changes into a vector file, by result: `done` or `failed`.");
  for (const auto& each : all) {
    out.sample({{"endpoint", each.endpoint_id}, {"result", "done"}}, static_cast<double>(each.merges));
    out.sample({{"endpoint", each.endpoint_id}, {"result", "failed"}}, static_cast<double>(each.failures));
  }
}

void write_records(exposition& out, const serve_shared& shared) {
  if (shared.context.records.empty()) return;
  out.family("rankd_record_calls_total", kind::counter, "Calls of /v1/records, by result.");
  for (const auto& [name, writer] : shared.context.records) {
    const record_counts counts = writer->counts();
    const auto sample = [&, endpoint = std::string_view(name)](std::string_view result, std::uint64_t count) {
      out.sample({{"endpoint", endpoint}, {"result", result}}, static_cast<double>(count));
    };
    sample("written", counts.written);
    sample("repeated", counts.repeated);
    sample("refused", counts.refused);
    sample("failed", counts.failed);
  }
}

void write_cache(exposition& out, const serve_shared& shared) {
  cache_counts all;
  for (const auto& each : shared.shards) {
    const auto counts = each->context().cached();
    if (!counts) return;
    all.add(*counts);
  }
  out.family("rankd_cache_requests_total", kind::counter, "Lookups in the cache by nodes, by result.");
  const auto sample = [&out](std::string_view result, std::uint64_t count) {
    out.sample({{"result", result}}, static_cast<double>(count));
  };
  sample("hit", all.hits);
  sample("stale", all.stale);
  sample("miss", all.misses);
  sample("shared", all.shared);
  out.family("rankd_cache_evicted_total", kind::counter, "Entries that were removed from the cache to make room.");
  out.sample({}, static_cast<double>(all.evicted));
  out.family("rankd_cache_refused_total", kind::counter,
             "Entries that were not cached, because they had too many rows or were too large.");
  out.sample({}, static_cast<double>(all.refused));
  out.family("rankd_cache_bytes", kind::gauge, "Bytes of the rows and keys in the cache.");
  out.sample({}, static_cast<double>(all.bytes));
  out.family("rankd_cache_entries", kind::gauge,
             "Entries in the cache; an entry contains the rows of a node for one key.");
  out.sample({}, static_cast<double>(all.entries));
}

void write_late_nodes(exposition& out, const serve_shared& shared) {
  double late = 0;
  for (const auto& each : shared.shards) late += static_cast<double>(each->context().late_nodes());
  out.family("rankd_late_nodes_total", kind::counter, "Nodes that ended after their request was answered.");
  out.sample({}, late);
}

void write_lost_lines(exposition& out, const serve_shared& shared) {
  out.family("rankd_log_lines_lost_total", kind::counter, "Lines of the log and of the audit that were not written.");
  const line_file* const audit = shared.context.audit;
  out.sample({}, static_cast<double>(shared.context.log.lost() + (audit != nullptr ? audit->lost() : 0)));
}

void write_spans(exposition& out, const serve_shared& shared) {
  if (shared.context.spans == nullptr) return;
  const span_counts counts = shared.context.spans->counts();
  out.family("rankd_spans_exported_total", kind::counter, "Spans that the collector has accepted.");
  out.sample({}, static_cast<double>(counts.exported));
  out.family("rankd_spans_dropped_total", kind::counter, "Spans that did not reach the collector, by reason.");
  out.sample({{"reason", "queue_full"}}, static_cast<double>(counts.dropped));
  out.sample({{"reason", "not_taken"}}, static_cast<double>(counts.failed));
  out.family("rankd_spans_queued", kind::gauge, "Spans that wait for the collector.");
  out.sample({}, static_cast<double>(counts.queued));
}

void write_traffic(exposition& out, const serve_shared& shared) {
  if (shared.context.traffic == nullptr) return;
  const traffic_counts counts = shared.context.traffic->counts();
  out.family("rankd_recorded_requests_total", exposition::kind::counter, "Requests in the recording.");
  out.sample({}, static_cast<double>(counts.recorded));
  out.family("rankd_record_bytes", exposition::kind::gauge, "Bytes of the recording.");
  out.sample({}, static_cast<double>(counts.bytes));
  out.family("rankd_record_lost_total", exposition::kind::counter,
             "Requests that should have been recorded but were lost, by reason.");
  for (std::size_t at = 0; at < traffic_loss_names.size(); ++at)
    out.sample({{"reason", traffic_loss_names[at]}}, static_cast<double>(counts.lost[at]));
}

void write_shadows(exposition& out, const serve_shared& shared) { shadow_board::write(out, *shared.shadows.all()); }

void write_lines(exposition& out, const serve_shared& shared) {
  const serve_context& to = shared.context;
  const bool has_captures = to.captures != nullptr || to.arrow_captures != nullptr;
  const auto sample = [&](auto count) {
    const auto of = [&](const auto* file) { return file == nullptr ? 0.0 : static_cast<double>(count(*file)); };
    if (has_captures) out.sample({{"file", "captures"}}, of(to.captures) + of(to.arrow_captures));
    if (to.exposures != nullptr) out.sample({{"file", "exposures"}}, of(to.exposures));
  };
  if (!has_captures && to.exposures == nullptr) return;
  out.family(
      "rankd_data_lines_total", kind::counter,
      "Lines written to the files of captures and exposures. In Arrow files, each set of rows counts as a line.");
  sample([](const auto& file) { return file.written(); });
  out.family("rankd_data_lines_lost_total", kind::counter,
             "Lines of captures and exposures that were lost, because too many lines waited for the disk or the disk "
             "was full.");
  sample([](const auto& file) { return file.lost(); });
}

void write_reopenings(exposition& out, const serve_shared& shared) {
  const serve_context& to = shared.context;
  const auto sample = [&](auto value) {
    const auto add = [&](std::string_view name, const auto* file) {
      if (file != nullptr) out.sample({{"file", name}}, static_cast<double>(value(file->reopened())));
    };
    add("log", to.log.file());
    add("audit", to.audit);
    add("captures", to.captures);
    add("captures", to.arrow_captures);
    add("exposures", to.exposures);
  };
  out.family("rankd_file_not_reopened", kind::gauge,
             "1 while a file could not be reopened and lines are still written to the old file, which was moved away.");
  sample([](const reopening& each) { return each.is_pending() ? 1 : 0; });
  out.family("rankd_file_reopen_failures_total", kind::counter, "Failed attempts to reopen a file.");
  sample([](const reopening& each) { return each.failures(); });
}

void write_events(exposition& out, const serve_shared& shared) {
  if (shared.context.events == nullptr) return;
  const event_counts counts = shared.context.events->counts();
  out.family("rankd_events_total", kind::counter, "Events received, by result.");
  out.sample({{"result", "accepted"}}, static_cast<double>(counts.accepted));
  out.sample({{"result", "duplicate"}}, static_cast<double>(counts.duplicates));
  out.sample({{"result", "refused"}}, static_cast<double>(counts.refused));
  out.sample({{"result", "failed"}}, static_cast<double>(counts.failed));
  out.family("rankd_event_syncs_total", kind::counter, "How often the event log was synced.");
  out.sample({}, static_cast<double>(counts.syncs));
  out.family("rankd_event_bytes_total", kind::counter, "Bytes written to the event log.");
  out.sample({}, static_cast<double>(counts.bytes));
  out.family("rankd_event_ids_forgotten_total", kind::counter,
             "Event ids that were dropped before their window ended, because there were too many ids.");
  out.sample({}, static_cast<double>(counts.forgotten));
}

void write_counters(exposition& out, const serve_shared& shared) {
  const counter_writer* redis = shared.context.counters;
  const embedded_counters* embedded = shared.context.embedded;
  if (redis == nullptr && embedded == nullptr) return;
  counter_counts counts = redis == nullptr ? counter_counts() : redis->counts();
  if (embedded != nullptr) {
    const counter_counts more = embedded->counts();
    counts.written += more.written;
    counts.lost += more.lost;
  }
  out.family("rankd_counter_steps_total", kind::counter, "Changes of values by event rules, by result.");
  out.sample({{"result", "written"}}, static_cast<double>(counts.written));
  out.sample({{"result", "lost"}}, static_cast<double>(counts.lost));
  if (embedded == nullptr) return;
  out.family("rankd_counter_hashes", kind::gauge, "Values in memory that event rules have written.");
  out.sample({}, static_cast<double>(embedded->hashes()));
  out.family("rankd_counter_bytes", kind::gauge, "Memory used by values that event rules have written.");
  out.sample({}, static_cast<double>(embedded->bytes()));
  out.family("rankd_counter_snapshots_failed_total", kind::counter,
             "Snapshots of these values that could not be written to the disk.");
  out.sample({}, static_cast<double>(embedded->snapshots_failed()));
}

void write_reloads(exposition& out, const serve_shared& shared) {
  if (shared.context.changes == nullptr) return;
  const reload_counts reloads = shared.context.changes->reloads();
  out.family("rankd_plan_reloads_total", kind::counter, "Reloads of all plans, by result.");
  out.sample({{"result", "done"}}, static_cast<double>(reloads.done));
  out.sample({{"result", "refused"}}, static_cast<double>(reloads.refused));
}

/// Writes the metrics of the loops, workers and threads of all shards.
void write_runtimes(exposition& out, const serve_shared& shared) {
  std::vector<braid::metric> all;
  std::vector<braid::runtime*> runtimes;
  for (const auto& each : shared.shards) runtimes.push_back(each->context().runtime);
  if (const auto* candidates = shared.candidates()) runtimes.push_back(candidates->runs_on.get());
  for (braid::runtime* const each : runtimes) {
    std::vector<braid::metric> more = braid::metrics(*each);
    // The memory for jobs is counted for the whole process, so only the metrics of the first runtime include it.
    if (!all.empty()) std::erase_if(more, [](const braid::metric& one) { return one.labels.empty(); });
    std::ranges::move(more, std::back_inserter(all));
  }
  out.add(all);
}

void write_process(exposition& out, const serve_shared& /*shared*/) { write_process_metrics(out); }

/// A function that writes some metric families.
using metric_writer = void (*)(exposition& out, const serve_shared& shared);

/// The metrics of a server, in the order in which the answer contains them.
constexpr metric_writer writers[] = {write_loops,  write_plans,    write_endpoints, write_scrub,      write_generations,
                                     write_merges, write_records,  write_cache,     write_late_nodes, write_lost_lines,
                                     write_spans,  write_traffic,  write_shadows,   write_lines,      write_reopenings,
                                     write_events, write_counters, write_reloads,   write_runtimes,   write_process};

}  // namespace

auto answer_metrics(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  context.metrics.note_gate(context.gate.counts(), context.unread());
  exposition out;
  for (const metric_writer each : writers) each(out, *context.shared);
  reply(context, x, endpoint::metrics, braid::http_status::ok, exposition_media_type, out.text());
  return {};
}

}  // namespace rankd::detail
