// rankd/server/shadow_runs.cpp: candidates run beside the plans that are served, after their answers.
#include <rankd/server/detail/rank_parts.hpp>

#include <rankd/engine/answer_comparison.hpp>
#include <rankd/registry/names.hpp>

#include <braid/runtime/runtime.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

constexpr std::size_t overlap_depth = 10;

auto code_of(const ranking& answer) -> std::string { return answer.error ? answer.error->code : "ok"; }

auto size_of(const ranking& answer) -> std::size_t { return answer.error ? 0 : answer.rows.size(); }

}  // namespace

/// The system gives the thread processors that nothing else wants, and takes them back at once, so requests that are
/// served do not wait for candidates. Merged, so that there is one thread and no other has its class.
auto make_shadow_engine(const serve_shared& all) -> braid::checked<std::unique_ptr<shadow_engine>> {
  auto out = std::make_unique<shadow_engine>();
  out->stores.all = all.context.stores;
  if (all.context.open_shadow_stores) {
    auto opened = all.context.open_shadow_stores();
    if (!opened) return std::unexpected(std::move(opened.error()));
    out->stores = std::move(*opened);
  }
  auto made = braid::runtime::create({.workers = 1,
                                      .name = "shadow",
                                      .shape = braid::runtime_shape::merged,
                                      .scheduling = braid::scheduling(braid::scheduling::idle())});
  if (!made) return std::unexpected(no_runtime(made.error()));
  out->runs_on = std::move(*made);
  engine_options how = all.options.engine;
  how.metrics = node_metrics::none;
  how.captures = plan_captures::ignored;
  how.cache.bytes = 0;  // what candidates give is compared
  out->ranker.emplace(*out->runs_on, *all.context.declared, out->stores.all, how);
  return out;
}

/// Null for a request that no candidate is run for. Later pages belong to the ranking that gave the first one.
auto shard::shadowed(const rank_request& request, std::string_view plan, std::string_view text,
                     std::string_view head_id) const -> std::unique_ptr<shadow_ask> {
  auto board = all_->shadows.find(plan);
  if (board == nullptr || request.cursor || !board->wants(request.request_id)) return nullptr;
  auto out = std::make_unique<shadow_ask>();
  out->board = std::move(board);
  out->text = text;
  out->head_id = head_id;
  out->time = request.time;
  return out;
}

/// Whatever comes of the candidate: the request has its answer.
void shard::begin_shadow(std::unique_ptr<shadow_ask> ask, const plan_handle& plan, const ranking& served) {
  shadow_board& board = *ask->board;
  if (gate_.counts().waiting != 0 || all_->stopping.load(braid::relaxed)) return board.count(shadow_verdict::skipped);
  auto place = all_->of_shadows.try_enter(board.plan(), board.max_runs());
  if (!place) return board.count(shadow_verdict::busy);
  const std::shared_ptr<shadow_board> kept = ask->board;  // a reload may have let go of it
  auto run = run_shadow(std::move(ask), plan, served, std::move(*place));
  if (!braid::post(*all_->candidates()->runs_on, std::move(run))) kept->count(shadow_verdict::skipped);  // it has ended
}

/// As a request of its own to the candidate: with its budget and its deadline, on another thread, and with connections
/// to stores that no served request waits for.
auto shard::compare_with_candidate(const shadow_ask& ask, const bound_plan& plan, const ranking& served)
    -> braid::task<void> {
  shadow_board& board = *ask.board;
  const auto candidate = all_->context.plans->find(board.candidate());
  if (!candidate || candidate->bound == nullptr) co_return board.count(shadow_verdict::unavailable);
  const registries& declared = *candidate->bound->declared;
  auto request = parse_request(ask.text, declared, {.line = 0, .request_id = ask.head_id, .time = ask.time});
  if (!request) co_return board.count(shadow_verdict::unavailable);
  request->explain = explain_mode::off;
  request->explain_ids.clear();
  request->captures.clear();  // they name nodes of the plan that is served
  if (!fit_to_plan(*request, *candidate->bound, declared).empty()) co_return board.count(shadow_verdict::unavailable);
  const plan_budget& budget = candidate->bound->budget;
  if (!request->deadline) request->deadline = budget.default_deadline.value_or(all_->options.default_deadline);
  keep_to_budget(*request, budget);
  shadow_run run;
  if (!all_->context.redacted.hides("request_id")) run.request_id = served.request_id;
  auto ranking_task = all_->candidates()->ranker->rank(candidate->bound, std::move(*request));
  const ranking other = co_await std::move(ranking_task);
  run.verdict = compare_answers(served, other, overlap_depth);
  run.code = code_of(served);
  run.other_code = code_of(other);
  run.candidates = size_of(served);
  run.other_candidates = size_of(other);
  run.extra = std::max(other.total - served.total, braid::duration::zero());
  if (board.is_among_worst(run.verdict, plan.digest, candidate->bound->digest)) {
    run.moves = moves_between(served, other, run.moved);
    run.moves.resize(std::min(run.moves.size(), shadow_board::max_moves));
  }
  board.add(std::move(run), plan.digest, candidate->bound->digest);
}

/// The answer that was served is freed where it was made: its memory goes back under a lock that requests want, and
/// this thread may be held up under it.
auto shard::run_shadow(std::unique_ptr<shadow_ask> ask, plan_handle plan, ranking served, in_flight_shares::pass place)
    -> braid::task<void> {
  const in_flight_shares::pass held = std::move(place);
  auto comparing = compare_with_candidate(*ask, *plan, served);
  co_await std::move(comparing);
  static_cast<void>(braid::post(*io_, [gone = std::move(served)] {}));  // a loop that has stopped wants no lock
}

/// What it shows is of other clients' requests.
void shard::shadow(braid::http_exchange& x) {
  if (!may_ask(x, endpoint::shadow)) return;
  const std::string_view id = given_request_id(x.request());
  if (const auto client = client_of(x); tokens_ != nullptr && !(client && client->may_see_shadows))
    return reply(x, endpoint::shadow,
                 answer_error(braid::http_status::forbidden, "shadow_forbidden",
                              "only a client whose token has the right `shadow` sees what came of candidates", id));
  const auto board = all_->shadows.find(x.value("name"));
  if (board == nullptr)
    return reply(x, endpoint::shadow,
                 answer_error(braid::http_status::not_found, "unknown_shadow",
                              "no candidate runs beside a plan called " + quote_name(x.value("name")), id));
  reply(x, endpoint::shadow, braid::http_status::ok, json_type, board->to_json());
}

}  // namespace rankd::detail
