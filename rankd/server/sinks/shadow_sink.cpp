// rankd/server/sinks/shadow_sink.cpp: runs candidate plans as shadows of the served plans, after requests were
// answered.
#include <rankd/server/detail/served_request.hpp>

#include <rankd/engine/explain/answer_comparison.hpp>
#include <rankd/engine/explain/moved_ids.hpp>
#include <rankd/server/detail/shadow_ask.hpp>

#include <braid/runtime/runtime.hpp>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

constexpr std::size_t overlap_depth = 10;

/// Runs a request with the candidate plan, and compares the answers. The candidate has its own budget, deadline and
/// thread. It may also have its own connections to stores, so that served requests do not wait for the candidate.
auto compare_with_candidate(const serve_shared& shared, const shadow_ask& ask, const bound_plan& plan,
                            const ranking& served) -> braid::task<void> {
  shadow_board& board = *ask.board;
  const auto candidate = shared.context.plans->find(board.candidate());
  if (!candidate || candidate->bound == nullptr) co_return board.count(shadow_verdict::unavailable);
  const registries& declared = *candidate->bound->declared;
  auto request = parse_request(ask.text, declared, {.line = 0, .request_id = ask.head_id, .time = ask.time});
  if (!request) co_return board.count(shadow_verdict::unavailable);
  request->explain = explain_mode::off;
  request->explain_ids.clear();
  request->captures.clear();  // they name nodes of the served plan
  if (!fit_to_plan(*request, *candidate->bound, declared).empty()) co_return board.count(shadow_verdict::unavailable);
  const plan_budget& budget = candidate->bound->budget;
  if (!request->deadline) request->deadline = budget.default_deadline.value_or(shared.options.default_deadline);
  keep_to_budget(*request, budget);
  shadow_run run;
  if (!shared.context.redacted.hides("request_id")) run.request_id = served.request_id;
  const ranking other = co_await shared.candidates()->ranker->rank(candidate->bound, std::move(*request));
  run.verdict = compare_answers(served, other, overlap_depth);
  run.code = answer_code(served);
  run.other_code = answer_code(other);
  run.candidates = answer_size(served);
  run.other_candidates = answer_size(other);
  run.extra = std::max(other.total - served.total, braid::duration::zero());
  if (board.is_among_worst(run.verdict, plan.digest, candidate->bound->digest)) {
    run.moves = moves_between(served, other, run.moved);
    run.moves.resize(std::min(run.moves.size(), shadow_board::max_moves));
  }
  board.add(std::move(run), plan.digest, candidate->bound->digest);
}

/// Runs the candidate, and then frees the served answer on the loop that has created the answer. Freeing the answer
/// takes a lock that requests need, and this low-priority thread might be preempted while it holds that lock.
auto run_shadow(endpoint_context& context, std::unique_ptr<shadow_ask> ask, plan_handle plan, ranking served,
                in_flight_shares::pass place) -> braid::task<void> {
  const in_flight_shares::pass held = std::move(place);
  try {
    co_await compare_with_candidate(*context.shared, *ask, *plan, served);
    static_cast<void>(
        braid::post(*context.loop, [gone = std::move(served)] {}));  // a loop that has stopped wants no lock
  } catch (const std::bad_alloc&) {
    ask->board->count(shadow_verdict::skipped);
  }
}

class shadow_sink final : public request_sink {
 public:
  explicit shadow_sink(endpoint_context& context) noexcept : context_(&context) {}

  /// Prepares a request for the candidate. A request with a cursor is skipped, because later pages belong to the
  /// ranking of the first page.
  void prepare(served_request& request, rank_request& asked, std::string_view text, std::string_view head_id) override {
    auto board = context_->shared->shadows.find(request.record.plan);
    if (board == nullptr || asked.cursor || !board->wants(asked.request_id)) return;
    request.shadow = std::make_unique<shadow_ask>();
    request.shadow->board = std::move(board);
    request.shadow->text = text;
    request.shadow->head_id = head_id;
    request.shadow->time = asked.time;
    // Passes the stores explicitly, because a request with its own stores bypasses the cache. The answer is compared
    // with another answer, so no part of it may come from a cache.
    if (request.stores.list == nullptr) request.stores = context_->ranker->stores_of_request();
  }

  /// Starts the candidate's run. The request has been answered already, so the candidate cannot affect it.
  void receive(served_request& request) override {
    if (request.shadow == nullptr || request.ranked == nullptr) return;
    const std::shared_ptr<shadow_board> board = request.shadow->board;  // a reload may have dropped it
    serve_shared& shared = *context_->shared;
    if (request.others_wait || shared.stopping.load(braid::relaxed)) return board->count(shadow_verdict::skipped);
    auto place = shared.of_shadows.try_enter(board->plan(), board->max_runs());
    if (!place) return board->count(shadow_verdict::busy);
    try {
      auto run = run_shadow(*context_, std::move(request.shadow), request.plan, *request.ranked, std::move(*place));
      if (!braid::post(*shared.candidates()->runs_on, std::move(run)))
        board->count(shadow_verdict::skipped);  // the runtime has ended
    } catch (const std::bad_alloc&) {
      board->count(shadow_verdict::skipped);
    }
  }

 private:
  endpoint_context* context_;
};

}  // namespace

/// Creates the engine for candidates. The thread of this engine runs only on idle processors, so that served requests
/// do not wait for candidates. The runtime is merged into one thread, so that no other thread has this scheduling
/// class.
auto make_shadow_engine(const serve_shared& shared) -> braid::checked<std::unique_ptr<shadow_engine>> {
  auto out = std::make_unique<shadow_engine>();
  out->stores.all = shared.context.stores;
  if (shared.context.open_shadow_stores) {
    auto opened = shared.context.open_shadow_stores();
    if (!opened) return std::unexpected(std::move(opened.error()));
    out->stores = std::move(*opened);
  }
  auto made = braid::runtime::create({.workers = 1,
                                      .name = "shadow",
                                      .shape = braid::runtime_shape::merged,
                                      .scheduling = braid::scheduling(braid::scheduling::idle())});
  if (!made) return std::unexpected(no_runtime(made.error()));
  out->runs_on = std::move(*made);
  engine_options how = shared.options.engine;
  how.metrics = node_metrics::none;
  how.captures = plan_captures::ignored;
  how.cache.bytes = 0;  // the answers of candidates are compared
  how.records.bytes = 0;
  out->ranker.emplace(*out->runs_on, *shared.context.declared, out->stores.all, how);
  return out;
}

void add_shadow_sink(endpoint_context& context, request_sinks& sinks) {
  sinks.push_back(std::make_unique<shadow_sink>(context));  // a reload may add a candidate to any plan
}

}  // namespace rankd::detail
