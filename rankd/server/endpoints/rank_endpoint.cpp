// rankd/server/endpoints/rank_endpoint.cpp: POST /v1/rank: reads a request, waits for its admission, and runs its plan.
#include <rankd/server/detail/rank_request.hpp>

#include <rankd/engine/requests/request.hpp>
#include <rankd/server/detail/handlers.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/trace/trace.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

constexpr std::size_t largest_kept_answer = 256 * 1024;

/// Returns the remaining time in whole milliseconds, but at least 1.
auto left_until(braid::time_point deadline, braid::time_point now) -> std::chrono::milliseconds {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(deadline - now), std::chrono::milliseconds(1));
}

/// Reads the body of a request and ranks it.
auto read_and_rank(endpoint_context& context, served_request request) -> braid::task<void> {
  if (!co_await read_body(request)) co_return;
  auto asked = prepare_request(request, request.body.text());
  if (!asked) co_return;
  co_await rank_prepared(context, request, *asked);
}

/// Reports to the gate how long the request took after its admission. The wait before the admission is not counted,
/// because it shows how many requests arrive, not how many concurrent requests are too many. Immediate errors are not
/// counted, because they do not show how busy the server is. Answers from a cache are not counted either. They are so
/// fast that computed answers would look like overload in comparison.
void learn(endpoint_context& context, const served_request& request, const ranking& ranked, braid::duration took,
           const admission_gate::pass& pass) {
  if (ranked.shares_work) return;
  if (ranked.error && ranked.error->code != "deadline_exceeded" && ranked.error->code != "time_budget_exceeded") return;
  auto pace = context.paces.find(request.record.plan);
  if (pace == context.paces.end()) pace = context.paces.emplace(request.record.plan, unhindered_time()).first;
  context.gate.note(pace->second.note(took), pass);
}

/// Parses a request with the registries of the plan that the request names. If there is no such plan, uses the
/// registries of the server.
struct request_reading {
  std::optional<known_plan> plan;
  std::shared_ptr<const registries> newest;  // of the plans that serve, unless the plan has its own
  const registries* declared = nullptr;

  auto read(const serve_context& serving, std::string_view text, request_origin origin)
      -> braid::checked<rank_request> {
    declared = serving.declared;
    const auto declared_for = [&](std::string_view name) -> const registries& {
      plan = name.empty() ? std::nullopt : serving.plans->find(name);
      if (!plan || !plan->bound) newest = serving.plans->declared();
      if (plan && plan->bound)
        declared = plan->bound->declared.get();
      else if (newest != nullptr)
        declared = newest.get();
      return *declared;
    };
    return parse_request(text, declared_for, origin);
  }
};

}  // namespace

/// Answers a request to rank. Refusals that do not depend on the body are sent without a coroutine.
auto answer_rank(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  served_request request(context, endpoint::rank, x);
  if (!request.check_head() || !request.enter_client() || request.is_refused_unread()) return {};
  return read_and_rank(context, std::move(request));
}

auto read_body(served_request& request) -> braid::task<bool> {
  std::optional<braid::result<void>> read = request.body.read_now(*request.exchange);
  if (!read) {
    read = co_await request.body.read(*request.exchange);
    if (*read && request.context->gate.refuses(request.context->loop->now())) {
      request.refuse_overloaded();
      co_return false;
    }
  }
  if (!*read) request.fail_body(read->error());
  co_return read->has_value();
}

auto prepare_request(served_request& request, std::string_view text) -> std::optional<rank_request> {
  endpoint_context& context = *request.context;
  const serve_context& serving = context.serving();
  request_record& record = request.record;
  const auto refuse = [&](const error_answer& error) {
    request.fail(error);
    return std::nullopt;
  };
  const std::string head_id = record.request_id;  // from the head
  const request_origin origin{.line = 0, .request_id = head_id};
  request_reading reading;
  auto asked = reading.read(serving, text, origin);
  const registries& declared = *reading.declared;
  if (!asked) {
    record.request_id = find_request_id(text, origin);
    return refuse(answer_error(http_status::bad_request, asked.error(), record.request_id));
  }
  const bool is_written = serving.audit != nullptr || serving.exposures != nullptr;
  take_asked(record, *asked);
  if (is_written) record.asked = audited(*asked, declared, serving.redacted);
  if (const auto forbidden = check_forced(record, *asked); !forbidden.empty())
    return refuse(answer_error(http_status::forbidden, forbidden, record.request_id));
  if (asked->plan.empty()) {
    const auto missing = request_problem("missing_field", "/plan", "the request must name the plan to run");
    return refuse(answer_error(http_status::bad_request, missing, record.request_id));
  }
  std::optional<known_plan>& plan = reading.plan;
  if (!plan) return refuse(unknown_plan(context, asked->plan, "/plan", record.request_id));
  record.plan = plan->name;
  if (!plan->bound) {
    context.metrics.count_refusal(plan->name, "plan_left_out");
    return refuse(answer_left_out(plan->name, plan->problems, record.request_id));
  }
  request.plan = std::move(plan->bound);
  record.plan_digest = request.plan->digest;
  if (const auto missing = fit_to_plan(*asked, *request.plan, declared); !missing.empty())
    return refuse(answer_error(http_status::bad_request, missing, record.request_id));
  if (request.plan->experiments != nullptr && is_written)
    append_arms(record.experiments, *request.plan->experiments, asked->arms);
  auto place = context.shared->of_plans.try_enter(record.plan, request.plan->budget.in_flight);
  if (!place) {
    context.metrics.count_refusal(record.plan, "plan_busy");
    request.refuse_busy("plan_busy", "the maximum number of requests to this plan is already running; try again later");
    return std::nullopt;
  }
  request.plan_place.emplace(std::move(*place));
  request.time = asked->time;
  for (const auto& each : context.sinks) each->prepare(request, *asked, text, head_id);
  return std::move(*asked);
}

/// Waits until a request is admitted, yields once, and then runs the plan. During the yield, the loop reads requests
/// that arrived at the same time, so that the gate counts these requests.
auto rank_prepared(endpoint_context& context, served_request& request, rank_request& asked) -> braid::task<void> {
  request_record& record = request.record;
  const plan_budget& budget = request.plan->budget;
  if (!asked.deadline) asked.deadline = budget.default_deadline.value_or(context.options().default_deadline);
  keep_to_budget(asked, budget);
  const braid::time_point deadline = record.begun + *asked.deadline;
  std::optional<admission_gate::pass> pass = context.gate.try_enter();
  if (!pass) {
    braid::result<admission_gate::pass> entered = co_await context.gate.enter(context.loop->now(), deadline);
    if (!entered && entered.error() == braid::errc::full) co_return request.refuse_overloaded();
    if (entered) pass.emplace(std::move(*entered));
  }
  const braid::time_point admitted = context.loop->now();
  if (pass) co_await braid::yield();
  const braid::time_point now = context.loop->now();
  if (!pass || now >= deadline) {
    const rank_error late{
        "deadline_exceeded", "the deadline of the request passed while it waited to be admitted", {}, {}};
    co_return request.fail(answer_error(late, record.request_id));
  }
  asked.deadline = left_until(deadline, now);
  if (record.trace && braid::trace::is_on()) asked.trace_id = record.trace->trace_id_text();
  const ranking ranked = co_await context.ranker->rank(request.plan, std::move(asked), std::move(request.stores));
  request.ran_until = context.loop->now();
  learn(context, request, ranked, request.ran_until - admitted, *pass);
  request.answer(ranked);
  request.ranked = &ranked;
  request.text = request.part != nullptr ? *request.part : context.last_answer;
  request.others_wait = context.gate.counts().waiting != 0;
  pass.reset();
  request.end();
  if (context.last_answer.capacity() > largest_kept_answer) context.last_answer = std::string();
}

void take_asked(request_record& record, const rank_request& asked) {
  record.request_id = asked.request_id;
  record.user_id = asked.user_id;
}

auto check_forced(const request_record& record, const rank_request& asked) -> braid::diagnostics {
  if (asked.forced.empty() || record.may_force) return {};
  return request_problem("force_forbidden", "/experiments",
                         "only a client whose token has the right `force` may choose arms of experiments");
}

}  // namespace rankd::detail
