// rankd/server/shadow/shadow_board.cpp: counts verdicts, keeps the worst runs, and writes both as JSON and metrics.
#include <rankd/server/shadow/shadow_board.hpp>

#include <rankd/registry/json_members.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

namespace rankd {
namespace {

using kind = exposition::kind;

/// Hashes a text by FNV-1a, and mixes the bits as in SplitMix64, because the high bits of a plain FNV hash depend
/// little on the last characters.
auto hash_of(std::string_view text) noexcept -> std::uint64_t {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001B3U;
  hash = (hash ^ (hash >> 30U)) * 0xBF58476D1CE4E5B9U;
  hash = (hash ^ (hash >> 27U)) * 0x94D049BB133111EBU;
  return hash ^ (hash >> 31U);
}

auto to_rank(const answer_verdict& verdict) { return std::tuple(verdict.rbo, verdict.overlap); }

/// Returns whether the candidate plan ran out of time. Such a run does not count against the candidate plan, because
/// the thread of candidate plans runs only on idle processors.
auto is_starved(const shadow_run& run) -> bool {
  constexpr std::array<std::string_view, 3> codes{"deadline_exceeded", "time_budget_exceeded", "node_timeout"};
  return run.verdict.change == answer_change::error && std::ranges::find(codes, run.other_code) != codes.end();
}

auto has_two_answers(const shadow_run& run) -> bool { return run.code == "ok" && run.other_code == "ok"; }

auto unless_empty(const std::string& text) { return text.empty() ? std::nullopt : std::optional(text); }

void append_side(std::string& out, std::string_view name, std::string_view code, std::size_t candidates) {
  append_json_name(out, name);
  out += '{';
  append_json_member(out, "code", code);
  append_json_count(out, "candidates", candidates);
  out += '}';
}

void append_run(std::string& out, const shadow_run& run) {
  out += '{';
  append_json_or_null(out, "request_id", unless_empty(run.request_id));
  append_json_member(out, "change", to_string(run.verdict.change));
  append_json_number_or_null(out, "overlap", run.verdict.overlap);
  append_json_number_or_null(out, "rbo", run.verdict.rbo);
  append_side(out, "served", run.code, run.candidates);
  append_side(out, "shadow", run.other_code, run.other_candidates);
  append_json_count(out, "moved", run.moved);
  append_json_name(out, "moves");
  append_moves(out, run.moves, move_parts::places);
  out += '}';
}

}  // namespace

auto to_string(shadow_verdict verdict) noexcept -> std::string_view {
  if (const auto number = static_cast<std::size_t>(verdict); number < answer_changes)
    return to_string(static_cast<answer_change>(number));
  switch (verdict) {
    case shadow_verdict::starved: return "starved";
    case shadow_verdict::skipped: return "skipped";
    case shadow_verdict::busy: return "busy";
    default: return "unavailable";
  }
}

auto shadow_board::wants(std::string_view request_id) const noexcept -> bool {
  const double share = share_.load(braid::relaxed);
  return share >= 1 || std::ldexp(static_cast<double>(hash_of(request_id)), -64) < share;
}

auto shadow_board::settings() const -> shadow_settings {
  return {.plan = plan_, .candidate = candidate_, .share = share_.load(braid::relaxed), .in_flight = max_runs()};
}

void shadow_board::change(const shadow_settings& next) noexcept {
  share_.store(next.share, braid::relaxed);
  max_runs_.store(next.in_flight, braid::relaxed);
}

void shadow_board::count(shadow_verdict verdict) {
  const std::scoped_lock lock(mutex_);
  ++counts_[static_cast<std::size_t>(verdict)];
}

auto shadow_board::is_among_worst(const answer_verdict& verdict, const std::string& digest,
                                  const std::string& other_digest) const -> bool {
  if (verdict.change == answer_change::equal) return false;
  const std::scoped_lock lock(mutex_);
  if (digest != digest_ || other_digest != other_digest_) return true;
  return worst_.size() < max_worst || to_rank(verdict) < to_rank(worst_.back().verdict);
}

void shadow_board::add(shadow_run run, const std::string& digest, const std::string& other_digest) {
  const std::scoped_lock lock(mutex_);
  const bool was_starved = is_starved(run);
  const bool is_compared = has_two_answers(run);
  ++counts_[static_cast<std::size_t>(was_starved ? shadow_verdict::starved
                                                 : static_cast<shadow_verdict>(run.verdict.change))];
  if (is_compared) {
    overlaps_.add(std::chrono::duration_cast<braid::duration>(std::chrono::duration<double>(run.verdict.overlap)));
    extra_.add(run.extra);
  }
  if (digest != digest_ || other_digest != other_digest_) {
    digest_ = digest;
    other_digest_ = other_digest;
    runs_ = compared_ = 0;
    overlap_ = rbo_ = 0;
    worst_.clear();
  }
  ++runs_;
  if (is_compared) {
    ++compared_;
    overlap_ += run.verdict.overlap;
    rbo_ += run.verdict.rbo;
  }
  if (was_starved || run.verdict.change == answer_change::equal) return;
  const auto key = [](const shadow_run& each) { return to_rank(each.verdict); };
  worst_.insert(std::ranges::upper_bound(worst_, key(run), {}, key), std::move(run));
  if (worst_.size() > max_worst) worst_.pop_back();
}

auto shadow_board::to_json() const -> std::string {
  const std::scoped_lock lock(mutex_);
  const auto mean = [this](double sum) {
    return compared_ == 0 ? std::nullopt : std::optional(sum / static_cast<double>(compared_));
  };
  std::string out = "{";
  append_json_member(out, "plan", plan_);
  append_json_member(out, "candidate", candidate_);
  append_json_number_or_null(out, "share", share_.load(braid::relaxed));
  append_json_count(out, "in_flight", max_runs());
  append_json_name(out, "counts");
  out += '{';
  for (std::size_t at = 0; at < counts_.size(); ++at)
    append_json_count(out, to_string(static_cast<shadow_verdict>(at)), counts_[at]);
  out += '}';
  append_json_or_null(out, "digest", unless_empty(digest_));
  append_json_or_null(out, "candidate_digest", unless_empty(other_digest_));
  append_json_count(out, "runs", runs_);
  append_json_count(out, "compared", compared_);
  append_json_number_or_null(out, "overlap", mean(overlap_));
  append_json_number_or_null(out, "rbo", mean(rbo_));
  append_json_name(out, "worst");
  append_json_list(out, worst_, append_run);
  return out += "}\n";
}

void shadow_board::write(exposition& out, std::span<const std::shared_ptr<shadow_board>> all) {
  if (all.empty()) return;
  out.family("rankd_shadow_total", kind::counter, "Requests for which a candidate should have run, by result.");
  for (const auto& each : all) {
    const std::scoped_lock lock(each->mutex_);
    for (std::size_t at = 0; at < shadow_verdicts; ++at)
      out.sample({{"plan", each->plan_},
                  {"candidate", each->candidate_},
                  {"verdict", to_string(static_cast<shadow_verdict>(at))}},
                 static_cast<double>(each->counts_[at]));
  }
  out.family("rankd_shadow_overlap", kind::histogram,
             "Overlap between the first candidates of both answers. Failed requests are not counted.");
  for (const auto& each : all) {
    const std::scoped_lock lock(each->mutex_);
    out.histogram({{"plan", each->plan_}, {"candidate", each->candidate_}}, each->overlaps_.buckets(),
                  each->overlaps_.seconds());
  }
  out.family("rankd_shadow_extra_seconds", kind::histogram,
             "Time by which the candidate was slower than the served plan.");
  for (const auto& each : all) {
    const std::scoped_lock lock(each->mutex_);
    out.histogram({{"plan", each->plan_}, {"candidate", each->candidate_}}, each->extra_.buckets(),
                  each->extra_.seconds());
  }
}

}  // namespace rankd
