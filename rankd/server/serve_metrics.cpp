// rankd/server/serve_metrics.cpp: counting, adding up, writing down.
#include <rankd/server/serve_metrics.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace rankd {
namespace {

using kind = exposition::kind;

auto bound_text(std::size_t at) -> std::string {
  if (at == time_histogram::bounds.size()) return "+Inf";
  std::array<char, 32> room{};
  const auto end = std::to_chars(room.data(), room.data() + room.size(), time_histogram::bounds[at]);
  return {room.data(), end.ptr};
}

void write_histogram(exposition& out, exposition::label of, const time_histogram& times) {
  for (std::size_t at = 0; at <= time_histogram::bounds.size(); ++at) {
    const std::string bound = bound_text(at);
    out.sample("_bucket", {of, {"le", bound}}, static_cast<double>(times.up_to(at)));
  }
  out.sample("_sum", {of}, times.seconds());
  out.sample("_count", {of}, static_cast<double>(times.up_to(time_histogram::bounds.size())));
}

}  // namespace

void time_histogram::add(braid::duration span) noexcept {
  const double seconds = std::chrono::duration<double>(span).count();
  const auto* const at = std::ranges::lower_bound(bounds, seconds);
  ++counts_[static_cast<std::size_t>(at - bounds.begin())];
  seconds_ += seconds;
}

void time_histogram::add(const time_histogram& other) noexcept {
  for (std::size_t at = 0; at < counts_.size(); ++at) counts_[at] += other.counts_[at];
  seconds_ += other.seconds_;
}

auto time_histogram::up_to(std::size_t at) const noexcept -> std::uint64_t {
  std::uint64_t all = 0;
  for (std::size_t each = 0; each <= at; ++each) all += counts_[each];
  return all;
}

auto name_of(endpoint which) noexcept -> std::string_view {
  switch (which) {
    case endpoint::rank: return "/v1/rank";
    case endpoint::plans: return "/v1/plans";
    case endpoint::plan: return "/v1/plans/{name}";
    case endpoint::health: return "/healthz";
    case endpoint::ready: return "/readyz";
    case endpoint::metrics: return "/metrics";
    case endpoint::openapi: return "/v1/openapi.json";
    case endpoint::versions: return "/v1/plans/{name}/versions";
    case endpoint::pin: return "/v1/plans/{name}/versions/{number}/pin";
    case endpoint::unpin: return "/v1/plans/{name}/unpin";
    case endpoint::roll_back: return "/v1/plans/{name}/rollback";
    case endpoint::reload: return "/v1/reload";
    case endpoint::other: break;
  }
  return "other";
}

void serve_metrics::count_answer(endpoint which, braid::http_status status) {
  const std::scoped_lock lock(mutex_);
  ++answers_[{which, static_cast<int>(status)}];
}

void serve_metrics::count_time(endpoint which, braid::duration took) {
  const std::scoped_lock lock(mutex_);
  times_[which].add(took);
}

void serve_metrics::count_run(std::string_view plan, std::string_view code, braid::duration took,
                              std::size_t candidates) {
  const std::scoped_lock lock(mutex_);
  auto found = plans_.find(plan);
  if (found == plans_.end()) found = plans_.emplace(std::string(plan), plan_figures()).first;
  plan_figures& figures = found->second;
  const auto known = figures.codes.find(code);
  if (known != figures.codes.end())
    ++known->second;
  else
    figures.codes.emplace(std::string(code), 1);
  figures.times.add(took);
  figures.candidates += candidates;
}

void serve_metrics::note_gate(const admission_counts& now) {
  const std::scoped_lock lock(mutex_);
  gate_ = now;
}

void serve_metrics::add_to(serve_metrics& sums) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [key, count] : answers_) sums.answers_[key] += count;
  for (const auto& [which, times] : times_) sums.times_[which].add(times);
  for (const auto& [name, figures] : plans_) {
    plan_figures& sum = sums.plans_[name];
    for (const auto& [code, count] : figures.codes) sum.codes[code] += count;
    sum.times.add(figures.times);
    sum.candidates += figures.candidates;
  }
  sums.gate_.admitted += gate_.admitted;
  sums.gate_.refused += gate_.refused;
  sums.gate_.late += gate_.late;
  sums.gate_.under_way += gate_.under_way;
  sums.gate_.waiting += gate_.waiting;
  sums.gate_.limit += gate_.limit;
}

void serve_metrics::write(exposition& out, std::span<serve_metrics* const> loops) {
  serve_metrics all;
  for (const serve_metrics* each : loops) each->add_to(all);

  out.family("rankd_http_responses_total", kind::counter, "Answers by endpoint and status.");
  for (const auto& [key, count] : all.answers_)
    out.sample({{"endpoint", name_of(key.first)}, {"status", std::to_string(key.second)}}, static_cast<double>(count));
  out.family("rankd_http_request_duration_seconds", kind::histogram, "Time from the head of a request to its answer.");
  for (const auto& [which, times] : all.times_) write_histogram(out, {"endpoint", name_of(which)}, times);

  out.family("rankd_requests_total", kind::counter, "Requests that were ranked, by plan and what came of them.");
  for (const auto& [name, figures] : all.plans_)
    for (const auto& [code, count] : figures.codes)
      out.sample({{"plan", name}, {"code", code}}, static_cast<double>(count));
  out.family("rankd_request_duration_seconds", kind::histogram, "Time from the body of a request to its ranking.");
  for (const auto& [name, figures] : all.plans_) write_histogram(out, {"plan", name}, figures.times);
  out.family("rankd_candidates_total", kind::counter, "Candidates that were answered.");
  for (const auto& [name, figures] : all.plans_) out.sample({{"plan", name}}, static_cast<double>(figures.candidates));

  out.family("rankd_admitted_total", kind::counter, "Requests that were let in.");
  out.sample({}, static_cast<double>(all.gate_.admitted));
  out.family("rankd_shed_total", kind::counter, "Requests that were refused because too many were there.");
  out.sample({}, static_cast<double>(all.gate_.refused));
  out.family("rankd_queue_timeouts_total", kind::counter, "Requests whose deadline passed while they waited.");
  out.sample({}, static_cast<double>(all.gate_.late));
  out.family("rankd_in_flight", kind::gauge, "Requests under way.");
  out.sample({}, static_cast<double>(all.gate_.under_way));
  out.family("rankd_queue_length", kind::gauge, "Requests that wait to be let in.");
  out.sample({}, static_cast<double>(all.gate_.waiting));
  out.family("rankd_concurrency_limit", kind::gauge, "How many requests may be under way at the moment.");
  out.sample({}, static_cast<double>(all.gate_.limit));
}

}  // namespace rankd
