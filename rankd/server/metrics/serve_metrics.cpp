// rankd/server/metrics/serve_metrics.cpp: counts the events of a loop, adds up the counts of all loops, and writes the
// sums.
#include <rankd/server/metrics/serve_metrics.hpp>

#include <string>

namespace rankd {
namespace {

using kind = exposition::kind;

}  // namespace

void serve_metrics::count_answer(endpoint endpoint, braid::http_status status) noexcept {
  const std::scoped_lock lock(mutex_);
  ++answers_[static_cast<std::size_t>(endpoint)][status];
}

void serve_metrics::count_end(endpoint endpoint, braid::http_status status, braid::duration took,
                              const admission_counts& now, std::size_t unread) noexcept {
  const std::scoped_lock lock(mutex_);
  if (status != braid::http_status{}) ++answers_[static_cast<std::size_t>(endpoint)][status];
  times_[static_cast<std::size_t>(endpoint)].add(took);
  gate_ = now;
  unread_ = unread;
}

void serve_metrics::count_batch(std::size_t requests) {
  const std::scoped_lock lock(mutex_);
  in_batches_ += requests;
}

/// Counts a request to a plan under the code with which the request ended. Requires that the caller holds the mutex.
auto serve_metrics::count_code(std::string_view plan, std::string_view code) -> plan_metrics& {
  auto found = plans_.find(plan);
  if (found == plans_.end()) found = plans_.emplace(std::string(plan), plan_metrics()).first;
  plan_metrics& metrics = found->second;
  const auto known = metrics.codes.find(code);
  if (known != metrics.codes.end())
    ++known->second;
  else
    metrics.codes.emplace(std::string(code), 1);
  return metrics;
}

void serve_metrics::count_refusal(std::string_view plan, std::string_view code) {
  const std::scoped_lock lock(mutex_);
  static_cast<void>(count_code(plan, code));
}

void serve_metrics::count_run(std::string_view plan, std::string_view code, braid::duration took,
                              std::size_t candidates) {
  const std::scoped_lock lock(mutex_);
  plan_metrics& metrics = count_code(plan, code);
  metrics.times.add(took);
  metrics.candidates += candidates;
}

void serve_metrics::count_arms(const plan_experiments& running, std::span<const chosen_arm> arms) {
  const std::scoped_lock lock(mutex_);
  for (const chosen_arm& each : arms) {
    if (each.from != arm_source::bucket) continue;
    const plan_experiments::experiment& of = running.experiments[each.experiment];
    ++arms_[of.name][of.arms[each.arm].name];
  }
}

void serve_metrics::count_degraded(std::string_view plan, std::span<const degradation> all) {
  const std::scoped_lock lock(mutex_);
  for (const degradation& each : all) ++fallbacks_[{std::string(plan), each.node, each.code}];
}

void serve_metrics::count_malformed(std::string_view plan, std::uint64_t ids, std::uint64_t values) {
  const std::scoped_lock lock(mutex_);
  plan_metrics& metrics = plans_[std::string(plan)];
  metrics.malformed_ids += ids;
  metrics.malformed_values += values;
}

void serve_metrics::note_gate(const admission_counts& now, std::size_t unread) {
  const std::scoped_lock lock(mutex_);
  gate_ = now;
  unread_ = unread;
}

void serve_metrics::add_to(serve_metrics& sums) const {
  const std::scoped_lock lock(mutex_);
  for (std::size_t which = 0; which < endpoints; ++which) {
    for (std::size_t slot = 0; slot < answer_counts::size(); ++slot)
      sums.answers_[which].at(slot) += answers_[which].at(slot);
    sums.times_[which].add(times_[which]);
  }
  sums.in_batches_ += in_batches_;
  for (const auto& [name, metrics] : plans_) {
    plan_metrics& sum = sums.plans_[name];
    for (const auto& [code, count] : metrics.codes) sum.codes[code] += count;
    sum.times.add(metrics.times);
    sum.candidates += metrics.candidates;
    sum.malformed_ids += metrics.malformed_ids;
    sum.malformed_values += metrics.malformed_values;
  }
  for (const auto& [experiment, arms] : arms_)
    for (const auto& [arm, count] : arms) sums.arms_[experiment][arm] += count;
  for (const auto& [key, count] : fallbacks_) sums.fallbacks_[key] += count;
  sums.gate_.admitted += gate_.admitted;
  sums.gate_.refused += gate_.refused;
  sums.gate_.late += gate_.late;
  sums.gate_.under_way += gate_.under_way;
  sums.gate_.waiting += gate_.waiting;
  sums.gate_.limit += gate_.limit;
  sums.unread_ += unread_;
}

/// Writes the number of answers of each endpoint by HTTP status. Statuses with a count of 0 are left out.
void serve_metrics::write_endpoints(exposition& out) const {
  const auto name = [](std::size_t index) { return name_of(static_cast<endpoint>(index)); };
  out.family("rankd_http_responses_total", kind::counter, "Answers by endpoint and status.");
  for (std::size_t which = 0; which < endpoints; ++which)
    for (std::size_t slot = 0; slot < answer_counts::size(); ++slot)
      if (const std::uint64_t count = answers_[which].at(slot); count != 0)
        out.sample({{"endpoint", name(which)}, {"status", std::to_string(answer_counts::status_at(slot))}},
                   static_cast<double>(count));
  out.family("rankd_http_request_duration_seconds", kind::histogram,
             "Time from the arrival of the head of a request to its answer.");
  for (std::size_t which = 0; which < endpoints; ++which)
    if (times_[which].up_to(times_[which].bounds.size()) != 0)
      out.histogram({{"endpoint", name(which)}}, times_[which].buckets(), times_[which].seconds());
}

void serve_metrics::write(exposition& out, std::span<serve_metrics* const> loops) {
  serve_metrics all;
  for (const serve_metrics* each : loops) each->add_to(all);
  all.write_endpoints(out);

  out.family("rankd_batch_requests_total", kind::counter, "Requests that were sent in batches.");
  out.sample({}, static_cast<double>(all.in_batches_));

  out.family("rankd_requests_total", kind::counter, "Requests that were ranked, by plan and outcome.");
  for (const auto& [name, metrics] : all.plans_)
    for (const auto& [code, count] : metrics.codes)
      out.sample({{"plan", name}, {"code", code}}, static_cast<double>(count));
  out.family("rankd_request_duration_seconds", kind::histogram,
             "Time from the arrival of the body of a request until the request is ranked.");
  for (const auto& [name, metrics] : all.plans_)
    out.histogram({{"plan", name}}, metrics.times.buckets(), metrics.times.seconds());
  out.family("rankd_candidates_total", kind::counter, "Candidates in all answers.");
  for (const auto& [name, metrics] : all.plans_) out.sample({{"plan", name}}, static_cast<double>(metrics.candidates));

  if (!all.arms_.empty())
    out.family("rankd_experiment_requests_total", kind::counter, "Requests that an experiment assigned to an arm.");
  for (const auto& [experiment, arms] : all.arms_)
    for (const auto& [arm, count] : arms)
      out.sample({{"experiment", experiment}, {"arm", arm}}, static_cast<double>(count));

  if (!all.fallbacks_.empty())
    out.family("rankd_fallbacks_total", kind::counter, "Failures of nodes and plans that a fallback replaced.");
  for (const auto& [key, count] : all.fallbacks_)
    out.sample({{"plan", key[0]}, {"node", key[1]}, {"code", key[2]}}, static_cast<double>(count));

  out.family("rankd_malformed_ids_total", kind::counter, "Invalid ids in stores, which were skipped.");
  for (const auto& [name, metrics] : all.plans_)
    out.sample({{"plan", name}}, static_cast<double>(metrics.malformed_ids));
  out.family("rankd_malformed_values_total", kind::counter, "Values of features in stores that had the wrong type.");
  for (const auto& [name, metrics] : all.plans_)
    out.sample({{"plan", name}}, static_cast<double>(metrics.malformed_values));

  out.family("rankd_admitted_total", kind::counter, "Requests that were admitted.");
  out.sample({}, static_cast<double>(all.gate_.admitted));
  out.family("rankd_shed_total", kind::counter, "Requests that were refused because too many ran or waited.");
  out.sample({}, static_cast<double>(all.gate_.refused));
  out.family("rankd_queue_timeouts_total", kind::counter, "Requests whose deadline passed while they waited.");
  out.sample({}, static_cast<double>(all.gate_.late));
  out.family("rankd_in_flight", kind::gauge, "Requests under way.");
  out.sample({}, static_cast<double>(all.gate_.under_way));
  out.family("rankd_queue_length", kind::gauge, "Requests that wait to be admitted.");
  out.sample({}, static_cast<double>(all.gate_.waiting));
  out.family("rankd_concurrency_limit", kind::gauge, "The current limit of concurrent requests.");
  out.sample({}, static_cast<double>(all.gate_.limit));
  out.family("rankd_unread_connections", kind::gauge,
             "Connections whose reading is paused because a request was refused.");
  out.sample({}, static_cast<double>(all.unread_));
}

}  // namespace rankd
