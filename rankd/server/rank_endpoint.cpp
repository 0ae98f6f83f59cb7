// rankd/server/rank_endpoint.cpp: POST /v1/rank, from the head of a request to its answer.
#include <rankd/server/detail/rank_parts.hpp>

#include <rankd/engine/request.hpp>
#include <rankd/registry/names.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/trace/trace.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

constexpr std::string_view retry_after_s = "1";
constexpr std::size_t max_request_id = 256;
constexpr std::size_t largest_kept_answer = 256 * 1024;
constexpr auto time_between_reports = std::chrono::seconds(1);

/// True for a body in any coding but `identity`, which is none.
auto is_encoded(const braid::http_fields& fields) -> bool {
  constexpr std::string_view identity = "identity";
  const auto coding = fields.find("Content-Encoding");
  if (!coding) return false;
  const auto is_same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  return fields.count("Content-Encoding") > 1 || !std::ranges::equal(*coding, identity, is_same);
}

/// `application/json`, with whatever parameters.
auto is_json(std::string_view type) -> bool {
  if (type == json_type) return true;  // nearly all of them
  const std::string_view essence = type.substr(0, type.find(';'));
  const std::string_view trimmed = essence.substr(0, essence.find_last_not_of(" \t") + 1);
  return std::ranges::equal(trimmed, json_type, {},
                            [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
}

auto is_request_id(std::string_view text) -> bool {
  return text.size() <= max_request_id && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

auto request_problem(std::string code, std::string pointer, std::string message) -> braid::diagnostics {
  return braid::diagnostics({.code = std::move(code),
                             .pointer = std::move(pointer),
                             .message = std::move(message),
                             .hint = {},
                             .node = {},
                             .source = "request"});
}

/// The time that is left, as whole milliseconds, of which there is one at least.
auto left_until(braid::time_point deadline, braid::time_point now) -> std::chrono::milliseconds {
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(deadline - now), std::chrono::milliseconds(1));
}

}  // namespace

/// Reports a request when it ends, whatever way.
struct shard::record_end {
  shard* by;  // null: other code reports
  request_record* record;
  ~record_end() {
    if (by != nullptr) by->note(*record, endpoint::rank);
  }
};

/// Of a request that comes now. Its spans take the wall clock from here: read again, it might put them out of order.
auto shard::new_record() const -> request_record {
  request_record record;
  if (all_->context.audit != nullptr || all_->context.spans != nullptr) record.time = std::chrono::system_clock::now();
  record.begun = io_->now();
  return record;
}

/// A refusal that does not depend on the body needs no coroutine either.
auto shard::rank(braid::http_exchange& x) -> braid::task<void> {
  request_record record = new_record();
  record_end end{this, &record};
  if (!check_head(x, record)) return {};
  auto of_client =
      all_->of_clients.try_enter(record.client, record.client.empty() ? std::nullopt : all_->options.client_in_flight);
  if (!of_client) {
    busy(x, record, "client_busy", "this client has as many requests under way as it may; try again later");
    return {};
  }
  if (may_refuse_unread(x) && gate_.refuses(record.begun)) {
    overloaded(x, record);
    return {};
  }
  end.by = nullptr;  // the coroutine reports it
  return read_and_rank(x, std::move(record), std::move(*of_client));
}

auto shard::read_and_rank(braid::http_exchange& x, request_record record, in_flight_shares::pass of_client)
    -> braid::task<void> {
  const record_end end{this, &record};
  const in_flight_shares::pass held = std::move(of_client);
  held_body body(*this);
  std::optional<braid::result<void>> read = read_body_now(x, body);
  if (!read) {
    auto reading = read_body(x, body);
    read = co_await std::move(reading);
    if (*read && gate_.refuses(io_->now())) co_return overloaded(x, record);
  }
  if (!*read) co_return fail_body(x, record, read->error());

  auto ready = prepare(x, record, body.text);
  if (!ready) co_return;
  braid::task<void> work = run(x, record, *ready);
  co_await std::move(work);
}

/// Reads a request, finds its plan, and counts it for that. Nothing where it has been answered.
auto shard::prepare(reply_place to, request_record& record, std::string_view text) -> std::optional<ready_request> {
  const auto refuse = [&](const error_answer& error) {
    fail(to, record, error);
    return std::nullopt;
  };
  const std::string head_id = record.request_id;  // which the head has given
  const request_origin from{.line = 0, .request_id = head_id};
  std::optional<known_plan> plan;
  std::shared_ptr<const registries> newest;
  const registries* declared = all_->context.declared;
  const auto declared_for = [&](std::string_view name) -> const registries& {
    plan = name.empty() ? std::nullopt : all_->context.plans->find(name);
    if (!plan || !plan->bound) newest = all_->context.plans->declared();
    if (plan && plan->bound)
      declared = plan->bound->declared.get();
    else if (newest != nullptr)
      declared = newest.get();
    return *declared;
  };
  auto request = parse_request(text, declared_for, from);
  if (!request) {
    record.request_id = request_id_of(text, from);
    return refuse(answer_error(http_status::bad_request, request.error(), record.request_id));
  }
  record.request_id = request->request_id;
  record.user_id = request->user_id;
  if (all_->context.audit != nullptr || all_->context.exposures != nullptr)
    record.asked = audited(*request, *declared, all_->context.redacted);
  if (!request->forced.empty() && !record.may_force)
    return refuse(answer_error(http_status::forbidden,
                               request_problem("force_forbidden", "/experiments",
                                               "only a client whose token has the right `force` names arms"),
                               record.request_id));
  if (request->plan.empty()) {
    const auto missing = request_problem("missing_field", "/plan", "a request names the plan to run");
    return refuse(answer_error(http_status::bad_request, missing, record.request_id));
  }
  if (!plan) return refuse(unknown_plan(request->plan, "/plan", record.request_id));
  record.plan = plan->name;
  if (!plan->bound) {
    metrics_.count_refusal(plan->name, "plan_left_out");
    return refuse(answer_left_out(plan->name, plan->problems, record.request_id));
  }
  record.plan_digest = plan->bound->digest;
  if (const auto missing = fit_to_plan(*request, *plan->bound, *declared); !missing.empty())
    return refuse(answer_error(http_status::bad_request, missing, record.request_id));
  if (plan->bound->experiments != nullptr && (all_->context.audit != nullptr || all_->context.exposures != nullptr))
    append_arms(record.experiments, *plan->bound->experiments, request->arms);
  auto of_plan = all_->of_plans.try_enter(plan->name, plan->bound->budget.in_flight);
  if (!of_plan) {
    metrics_.count_refusal(plan->name, "plan_busy");
    busy(to, record, "plan_busy", "this plan has as many requests under way as it may; try again later");
    return std::nullopt;
  }
  auto kept = recorded(*request, *plan->bound, text, head_id);
  auto shadow = shadowed(*request, plan->name, text, head_id);
  return ready_request{std::move(*plan), std::move(*request), std::move(*of_plan), std::move(kept), std::move(shadow)};
}

/// A request that has been read: waits to be admitted, and ranks. Between both, those that came at the same time are
/// read, so that the gate knows of them.
auto shard::run(reply_place to, request_record& record, ready_request& ready) -> braid::task<void> {
  const known_plan& plan = ready.plan;
  rank_request& request = ready.request;
  const plan_budget& budget = plan.bound->budget;
  if (!request.deadline) request.deadline = budget.default_deadline.value_or(all_->options.default_deadline);
  keep_to_budget(request, budget);
  const braid::time_point deadline = record.begun + *request.deadline;
  std::optional<admission_gate::pass> pass = gate_.try_enter();
  if (!pass) {
    auto entering = gate_.enter(io_->now(), deadline);
    braid::result<admission_gate::pass> entered = co_await std::move(entering);
    if (!entered && entered.error() == braid::errc::full) co_return overloaded(to, record);
    if (entered) pass.emplace(std::move(*entered));
  }
  const braid::time_point admitted = io_->now();
  if (pass) co_await braid::yield();
  const braid::time_point now = io_->now();
  if (!pass || now >= deadline) {
    const rank_error late{
        "deadline_exceeded", "the deadline of the request passed while it waited to be admitted", {}, {}};
    co_return fail(to, record, answer_error(late, record.request_id));
  }
  request.deadline = left_until(deadline, now);
  const bool has_spans = exports(record);
  request.is_timed = has_spans;
  if (record.trace && braid::trace::is_on()) request.trace_id = record.trace->trace_id_text();
  const std::chrono::milliseconds time = request.time;
  request_stores own;  // none: those of the engine, and its cache
  if (ready.recorded != nullptr) own = ready.recorded->stores();
  if (own.list == nullptr && ready.shadow != nullptr) own = ranker_->stores_of_request();  // which is compared
  auto ranking_task = ranker_->rank(plan.bound, std::move(request), std::move(own));
  const ranking result = co_await std::move(ranking_task);
  const braid::time_point ended = io_->now();
  metrics_.count_run(plan.name, result.error ? result.error->code : "ok", ended - record.begun,
                     result.error ? 0 : result.rows.size());
  if (result.malformed_ids + result.malformed_values != 0)
    metrics_.count_malformed(plan.name, result.malformed_ids, result.malformed_values);
  if (!result.arms.empty()) metrics_.count_arms(*result.experiments, result.arms);
  count_nodes(*plan.bound, result);
  if (has_spans) add_node_spans(record, *plan.bound, result, ended);
  learn(result, plan, ended - admitted, *pass);
  keep_captures(record, *plan.bound, result, time);
  keep_exposure(record, result, time);
  answer(to, record, result);
  if (ready.recorded != nullptr) keep(*ready.recorded, plan.bound, result, to.x == nullptr ? *to.text : answer_);
  if (ready.shadow != nullptr) begin_shadow(std::move(ready.shadow), plan.bound, result);
  if (answer_.capacity() > largest_kept_answer) answer_ = std::string();
}

/// Of the plan, and of one that has stood in for it, or failed to.
void shard::count_nodes(const bound_plan& plan, const ranking& result) {
  const plan_source& serving = *all_->context.plans;
  const ranking& own = result.failed_before == nullptr ? result : *result.failed_before;
  metrics_.count_nodes(plan, own.nodes, serving);
  if (result.failed_before != nullptr) metrics_.count_nodes(*plan.substitute, result.nodes, serving);
  if (result.failed_after != nullptr) metrics_.count_nodes(*plan.substitute, result.failed_after->nodes, serving);
}

void shard::note_degraded(reply_place to, request_record& record, const ranking& result) {
  record.is_degraded = true;
  metrics_.count_degraded(result.plan, result.degraded);
  if (all_->context.audit != nullptr) append_degraded(record.degraded, result.degraded);
  if (to.x != nullptr) static_cast<void>(to.x->set_field("X-Rankd-Degraded", "1"));
}

/// What a request takes once it is let in; its wait before says how many came, and not how many at a time are too many.
/// An error that comes at once says nothing about how busy the server is, and nor do rows that were there already:
/// beside them, those that are made would look like overload.
void shard::learn(const ranking& result, const known_plan& plan, braid::duration took,
                  const admission_gate::pass& pass) {
  if (result.shares_work) return;
  if (result.error && result.error->code != "deadline_exceeded" && result.error->code != "time_budget_exceeded") return;
  auto pace = paces_.find(plan.name);
  if (pace == paces_.end()) pace = paces_.emplace(plan.name, unhindered_time()).first;
  gate_.note(pace->second.note(took), pass);
}

void shard::answer(reply_place to, request_record& record, const ranking& result) {
  if (result.error) return fail(to, record, answer_error(*result.error, result.request_id));
  record.status = http_status::ok;
  record.code = "ok";
  record.candidates = result.rows.size();
  if (!result.degraded.empty()) note_degraded(to, record, result);
  if (result.cached_nodes != 0 && to.x != nullptr) static_cast<void>(to.x->set_field("X-Rankd-Cached", "1"));
  if (to.x == nullptr) return append_json(*to.text, result);
  answer_.clear();
  append_json(answer_, result);
  answer_ += '\n';
  to.x->reply(http_status::ok, json_type, answer_);
}

/// Whether the request may go on; if not, it has been answered.
auto shard::check_head(braid::http_exchange& x, request_record& record) -> bool {
  join_trace(x, record);
  const braid::http_fields& fields = x.request().fields;
  const std::string_view id = given_request_id(x.request());
  if (!is_request_id(id)) {
    fail(x, record,
         answer_error(http_status::bad_request, "bad_request_id",
                      "the field X-Request-Id has at most 256 characters that print, all of them ASCII"));
    return false;
  }
  record.request_id = id;
  if (!id.empty()) static_cast<void>(x.set_field("X-Request-Id", id));
  const auto client = client_of(x);
  if (!client) {
    static_cast<void>(x.set_field("WWW-Authenticate", "Bearer"));
    fail(
        x, record,
        answer_error(http_status::unauthorized, "unauthorized", "this needs a bearer token that the server knows", id));
    return false;
  }
  record.is_known = true;
  record.client = client->name;
  record.may_force = client->may_force;
  record.may_send_events = client->may_send_events || !tokens_;
  const auto type = fields.find("Content-Type");
  if (is_encoded(fields) || (type && !is_json(*type)) || fields.count("Content-Type") > 1) {
    fail(x, record,
         answer_error(http_status::unsupported_media_type, "unsupported_media_type",
                      "Content-Type must be application/json or absent, and Content-Encoding identity or absent", id));
    return false;
  }
  return true;
}

/// A small body has mostly come with its head.
auto shard::read_body_now(braid::http_exchange& x, held_body& into) -> std::optional<braid::result<void>> {
  const std::optional<std::string_view> all = x.read_now();
  if (!all) return std::nullopt;
  if (!into.count(all->size())) return braid::fail(braid::errc::full);
  into.text = *all;
  return braid::result<void>();
}

auto shard::read_body(braid::http_exchange& x, held_body& into) -> braid::task<braid::result<void>> {
  for (;;) {
    auto reading = x.read_some();
    const braid::result<std::string_view> piece = co_await std::move(reading);
    if (!piece) co_return braid::fail(piece.error());
    if (piece->empty()) break;
    if (!into.count(piece->size())) co_return braid::fail(braid::errc::full);
    into.pieces += *piece;
  }
  into.text = into.pieces;
  co_return braid::result<void>();
}

void shard::fail_body(braid::http_exchange& x, request_record& record, std::error_code why) {
  if (why == braid::errc::full) return overloaded(x, record);
  if (why.category() != braid::detail::http_category()) why = braid::http_errc::truncated;
  const auto fault = static_cast<braid::http_errc>(why.value());
  fail(x, record,
       answer_error(braid::status_of(fault), std::string(code_of(fault)), sentence_of(fault, all_->options.limits),
                    record.request_id));
}

/// Must cost less than what it saves: the words are made once, and only the id is filled in.
void shard::overloaded(reply_place to, request_record& record) {
  record.is_shed = true;
  if (to.x != nullptr) to.x->pace();
  if (record.request_id.empty()) return fail(to, record, refusal_);
  const error_answer named{refusal_.status, refusal_.code, with_request_id(refusal_.body, record.request_id)};
  fail(to, record, named);
}

auto shard::make_refusal() -> error_answer {
  return answer_error(http_status::service_unavailable, "overloaded", "the server is overloaded; try again later");
}

/// The share of one client or plan is used up, whatever room the server has.
void shard::busy(reply_place to, request_record& record, std::string code, std::string_view message) {
  fail(to, record, answer_error(http_status::too_many_requests, std::move(code), message, record.request_id));
}

void shard::fail(reply_place to, request_record& record, const error_answer& error) {
  record.status = error.status;
  record.code = error.code;
  if (to.x == nullptr) {
    to.text->assign(error.body, 0, error.body.find_last_not_of('\n') + 1);
    return;
  }
  if (error.status == http_status::service_unavailable || error.status == http_status::too_many_requests)
    static_cast<void>(to.x->set_field("Retry-After", retry_after_s));
  to.x->reply(error.status, json_type, error.body);
}

namespace {

/// For a line of a terminal: what does not print is a question mark, and what is long is cut.
auto printable_id(std::string_view id) -> std::string {
  constexpr std::size_t longest = 80;
  std::string out(id.substr(0, longest));
  std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

/// Asks for a trace of what led to it.
void save_trace(const request_record& record) {
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(record.took).count();
  braid::trace::save("request " + printable_id(record.request_id) + " of plan " + record.plan + " took " +
                     std::to_string(took) + " ms");
}

}  // namespace

void shard::note(request_record& record, endpoint which) {
  metrics_.count_end(which, record.status, io_->now() - record.begun, gate_.counts(), unread());
  report(record);
  export_spans(record, which);
}

/// In the log and the audit.
void shard::report(request_record& record) {
  record.took = io_->now() - record.begun;
  const braid::duration slow = all_->options.trace_slow;
  if (slow > braid::duration::zero() && record.took >= slow) save_trace(record);
  const serve_log& log = all_->context.log;
  const int status = static_cast<int>(record.status);
  const log_level level = status >= 500 && !record.is_shed ? log_level::warning : log_level::debug;
  if (log.is_logged(level)) {
    const std::string trace_id = record.trace ? record.trace->trace_id_text() : std::string();
    log.note(level, "request",
             {{"request_id", record.request_id},
              {"trace_id", trace_id},
              {"plan", record.plan},
              {"status", std::int64_t{status}},
              {"code", record.code}});
  }
  if (record.is_shed) ++unreported_refusals_;
  report_refusals(record.begun + record.took);
  if (all_->context.audit != nullptr) all_->context.audit->add(audit_line(record, all_->context.redacted));
}

/// Refusals of a full server come by thousands: a line for each would cost as much as what they save.
void shard::report_refusals(braid::time_point now) {
  if (unreported_refusals_ == 0 || now < next_refusal_report_) return;
  next_refusal_report_ = now + time_between_reports;
  const auto refused = static_cast<std::int64_t>(std::exchange(unreported_refusals_, std::uint64_t{0}));
  all_->context.log.note(log_level::warning, "overloaded", {{"refused", refused}});
}

}  // namespace rankd::detail
