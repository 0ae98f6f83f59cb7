// rankd/server/endpoints/compare_endpoint.cpp: compares two plans by their answers to one request or to recorded
// traffic.
#include <rankd/server/detail/handlers.hpp>
#include <rankd/server/detail/rank_request.hpp>
#include <rankd/server/detail/routes.hpp>

#include <rankd/engine/explain/answer_comparison.hpp>
#include <rankd/engine/explain/moved_ids.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/traffic/traffic_findings.hpp>
#include <rankd/store/read_recorder.hpp>
#include <rankd/store/replayed_reads.hpp>

#include <braid/base/detail/number_in.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/net/http_client.hpp>
#include <braid/task/executor.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

constexpr std::size_t answer_depth = 10;  // of `overlap_at`
constexpr std::size_t max_depth = 100'000;
constexpr std::size_t max_changed = 1000;
constexpr auto first_pause = std::chrono::milliseconds(5);
constexpr auto max_pause = std::chrono::milliseconds(250);  // between two reports of progress

/// Parses an integer in a range. Returns nothing for any other text.
auto number_between(std::string_view text, std::size_t low, std::size_t high) -> std::optional<std::size_t> {
  const auto number = braid::detail::number_in<std::size_t>(text);
  return number && *number >= low && *number <= high ? number : std::nullopt;
}

/// Returns the record files that exist now, or no files if one of the given files or folders cannot be read.
auto find_records(const std::vector<std::filesystem::path>& places) -> std::vector<std::filesystem::path> {
  std::vector<std::filesystem::path> out;
  for (const auto& each : places) {
    auto found = list_records({each});
    if (found) out.insert(out.end(), found->begin(), found->end());
  }
  std::error_code error;
  std::erase_if(out, [&](const auto& each) { return !std::filesystem::exists(each, error); });
  return out;
}

/// One of the two compared plans, and its answers.
struct compared_side {
  /// Prepares the request for the plan. If the request is not valid for the plan, the answer is the diagnostics.
  compared_side(plan_handle handle, const rank_request& asked, const registries& declared)
      : plan(std::move(handle)), request(asked) {
    const auto unfit = fit_to_plan(*request, *plan, declared);
    if (unfit.empty()) return;
    request.reset();
    answer.error = rank_error{unfit.front().code, unfit.front().message, unfit.front().node, unfit.front().pointer};
    explained = answer;
  }

  void append_to(std::string& out, std::string_view name) const {
    append_json_string(out, name);
    out += ":{\"plan\":";
    append_json_string(out, plan->name);
    out += ",\"digest\":";
    append_json_string(out, plan->digest);
    out += ",\"code\":";
    append_json_string(out, answer_code(answer));
    out += ",\"answer\":";
    append_json(out, answer);
    out += '}';
  }

  plan_handle plan;
  std::optional<rank_request> request;  // nothing if the request does not suit the plan
  ranking answer;
  ranking explained;
  std::string reads;
};

/// Compares two answers, explains the moved ids, and returns the result as JSON. The function may take long, because
/// each plan may have 10 000 nodes.
auto answers_json(const compared_side& before, const compared_side& after, const registries& declared) -> std::string {
  const answer_verdict verdict = compare_answers(before.answer, after.answer, answer_depth);
  std::size_t moved = 0;
  std::vector<moved_id> moves = moves_between(before.answer, after.answer, moved);
  move_explainer(*before.plan, *after.plan, declared).explain(moves, before.explained, after.explained);
  std::string out = "{";
  before.append_to(out, "before");
  out += ',';
  after.append_to(out, "after");
  out += ",\"change\":\"" + std::string(to_string(verdict.change)) + "\",\"depth\":" + std::to_string(answer_depth) +
         ",\"overlap\":" + number_text(verdict.overlap) + ",\"rbo\":" + number_text(verdict.rbo) +
         ",\"moved\":" + std::to_string(moved) + ",\"moves\":" + to_json(moves);
  return out + "}\n";
}

/// Runs the two plans one after the other on the same data: if the second plan makes the same read as the first plan,
/// it gets the same answer, and the store is not asked again. Then runs each plan once more on its own recorded reads,
/// to explain the ids that moved.
auto run_both(engine& ranker, const store_list& live, const registries& declared, compared_side& before,
              compared_side& after) -> braid::task<void> {
  const auto run = [&ranker](compared_side& side, store_list on, rank_request with) {
    keep_to_budget(with, side.plan->budget);
    return ranker.rank(side.plan, std::move(with), request_stores(std::move(on)));
  };
  store_list seen = live;
  for (compared_side* each : {&before, &after}) {
    if (!each->request) continue;
    const auto recorder = std::make_shared<read_recorder>(seen);
    auto work = run(*each, read_recorder::list_stores(recorder), *each->request);
    each->answer = co_await std::move(work);
    each->reads = recorder->take();
    if (const auto kept = replayed_reads::parse(each->reads, declared, live)) seen = replayed_reads::list_stores(kept);
  }
  std::size_t moved = 0;
  const std::vector<moved_id> moves = moves_between(before.answer, after.answer, moved);
  for (compared_side* each : {&before, &after}) {
    if (!each->request || moves.empty()) continue;
    rank_request with = std::move(*each->request);
    with.explain = explain_mode::on;
    for (const moved_id& one : moves) with.explain_ids.push_back(one.id);
    const auto kept = replayed_reads::parse(std::move(each->reads), declared, live);
    auto work = run(*each, kept == nullptr ? live : replayed_reads::list_stores(kept), std::move(with));
    each->explained = co_await std::move(work);
  }
}

/// A comparison on recorded traffic. It runs on a thread that may block.
struct traffic_run {
  std::string record;  // the only record to use; empty: all
  std::vector<std::filesystem::path> files;
  traffic_comparison::settings how;
  braid::atomic<std::uint64_t> done{0};    // bytes; written by that thread
  braid::atomic<std::uint64_t> all{0};     // the same
  braid::atomic<bool> is_given_up{false};  // written by the loop: true for good
  std::mutex mutex;
  std::optional<braid::checked<traffic_findings>> result;  // under it; set once
  // The result that is used if an allocation fails. It is created in advance, while memory can still be allocated.
  std::optional<braid::checked<traffic_findings>> no_memory = braid::checked<traffic_findings>(
      refused("out_of_memory", "the server has not enough memory for this comparison; try again later"));

  void run_to_end(const braid::atomic<bool>& stopping) {
    const auto goes_on = [&](std::uint64_t bytes, std::uint64_t of) {
      done.store(bytes, braid::relaxed);
      all.store(of, braid::relaxed);
      return !is_given_up.load(braid::relaxed) && !stopping.load(braid::relaxed);
    };
    std::optional<braid::checked<traffic_findings>> found;
    try {
      found = compare_on_records(files, how, goes_on);
    } catch (const std::bad_alloc&) {
      found = std::move(no_memory);
    }
    const std::scoped_lock lock(mutex);
    result = std::move(found);
  }

  [[nodiscard]] auto has_ended() -> bool {
    const std::scoped_lock lock(mutex);
    return result.has_value();
  }

  /// Called if no thread accepts the comparison, because the server is shutting down.
  void refuse() {
    const std::scoped_lock lock(mutex);
    result = braid::checked<traffic_findings>(refused("stopping", "the server is shutting down"));
  }

  [[nodiscard]] auto progress() const -> std::string {
    return "{\"done\":" + std::to_string(done.load(braid::relaxed)) +
           ",\"all\":" + std::to_string(all.load(braid::relaxed)) + "}\n";
  }

  /// Returns the last line of the answer. The line contains the names of files as `/v1/traffic` lists them, so that
  /// clients do not see folders.
  auto last_line(std::string_view request_id) -> std::string {
    const std::scoped_lock lock(mutex);
    if (*result) {
      for (read_record& each : (*result)->records) each.file = std::filesystem::path(each.file).filename().string();
      return "{\"traffic\":" + to_json(**result) + "}\n";
    }
    braid::diagnostics problems;
    for (braid::diagnostic each : result->error()) {
      each.source = std::filesystem::path(each.source).filename().string();
      problems.add(std::move(each));
    }
    return to_json(problems, request_id) + "\n";
  }
};

/// Reads the request of a comparison. Each run has the deadline of the request, or else the deadline of the plan.
/// Returns nothing if the request has been answered with an error.
auto read_compared(endpoint_context& context, served_request& call, const bound_plan& plan)
    -> std::optional<rank_request> {
  request_record& record = call.record;
  const auto refuse = [&](http_status status, const braid::diagnostics& problems) {
    call.fail(answer_error(status, problems, record.request_id));
    return std::nullopt;
  };
  const std::string head_id = record.request_id;
  auto asked = parse_request(call.body.text(), *plan.declared, {.line = 0, .request_id = head_id});
  if (!asked) return refuse(http_status::bad_request, asked.error());
  take_asked(record, *asked);
  record.plan = plan.name;
  record.plan_digest = plan.digest;
  const serve_context& serving = context.serving();
  if (serving.audit != nullptr) record.asked = audited(*asked, *plan.declared, serving.redacted);
  if (const auto forbidden = check_forced(record, *asked); !forbidden.empty())
    return refuse(http_status::forbidden, forbidden);
  if (const auto named = plan_to_run(*asked, plan.name); !named) return refuse(http_status::bad_request, named.error());
  if (!asked->deadline) asked->deadline = plan.budget.default_deadline.value_or(context.options().default_deadline);
  asked->explain = explain_mode::off;
  asked->explain_ids.clear();
  asked->captures.clear();  // they name nodes of one of the two plans
  return std::move(*asked);
}

/// Parses the query. If the query is invalid, answers the request and returns null.
auto asked_traffic(endpoint_context& context, braid::http_exchange& x, plan_pair pair) -> std::shared_ptr<traffic_run> {
  const std::string_view query = x.request().query;
  const std::string_view id = given_request_id(x.request());
  traffic_comparison::settings how{.declared = pair.before->declared.get(),
                                   .before = std::move(pair.before),
                                   .after = std::move(pair.after),
                                   .recorded_plan = {}};
  how.recorded_plan = braid::http_url::query_value(query, "requests_of").value_or(how.before->name);
  const auto live = braid::http_url::query_value(query, "live");
  const auto depth = number_between(braid::http_url::query_value(query, "depth").value_or("10"), 1, max_depth);
  const auto changed = number_between(braid::http_url::query_value(query, "changed").value_or("20"), 0, max_changed);
  if (!depth || !changed || (live && *live != "1")) {
    reply(context, x, endpoint::diff_traffic,
          answer_error(
              http_status::bad_request, "bad_comparison",
              "`depth` must be an integer from 1 to 100000, `changed` an integer from 0 to 1000, and `live` 1 or "
              "absent",
              id));
    return nullptr;
  }
  how.depth = *depth;
  how.max_changed = *changed;
  if (live) how.live = std::make_shared<const std::vector<store*>>(context.serving().stores);
  auto out = std::make_shared<traffic_run>();
  out->record = braid::http_url::query_value(query, "record").value_or("");
  out->how = std::move(how);
  return out;
}

}  // namespace

auto answer_diff_answers(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::diff_answers;
  const auto pair = asked_pair(context, x, which);
  if (!pair) co_return;
  served_request call(context, which, x);
  if (!call.check_head() || !call.enter_client()) co_return;
  std::optional<braid::result<void>> read = call.body.read_now(x);
  if (!read) read = co_await call.body.read(x);
  if (!*read) co_return call.fail_body(read->error());
  auto request = read_compared(context, call, *pair->before);
  if (!request) co_return;

  const auto only = enter_route(context, which);
  if (!only)
    co_return call.refuse_busy("comparison_busy",
                               "the maximum number of comparisons is already running; try again later");
  in_flight_shares& plans = context.shared->of_plans;
  const auto of_before = plans.try_enter(pair->before->name, pair->before->budget.in_flight);
  const bool is_one_plan = pair->before->name == pair->after->name;  // they run in turn, so one place is enough
  const auto of_after = plans.try_enter(pair->after->name, is_one_plan ? std::nullopt : pair->after->budget.in_flight);
  if (!of_before || !of_after)
    co_return call.refuse_busy("plan_busy",
                               "the maximum number of requests to this plan is already running; try again later");
  const braid::result<admission_gate::pass> pass =
      co_await context.gate.enter(context.loop->now(), call.record.begun + context.options().default_deadline);
  if (!pass) co_return call.refuse_overloaded();

  const std::shared_ptr<const registries> declared = pair->before->declared;
  compared_side before(pair->before, *request, *declared);
  compared_side after(pair->after, *request, *declared);
  const store_list live = generation_pins(context.store_pointers).now().list;
  co_await run_both(*context.ranker, live, *declared, before, after);
  const auto print = [&before, &after, declared] { return answers_json(before, after, *declared); };
  const std::string text = co_await braid::offload(context.runtime->blocking(), print);
  call.record.status = http_status::ok;
  call.record.code = "ok";
  call.record.candidates = answer_size(before.answer);
  x.reply(http_status::ok, json_type, text);
}

auto answer_traffic(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  auto listing = braid::offload(context.runtime->blocking(), [places = context.serving().traffic_places] {
    std::string out = "{\"records\":[";
    for (const auto& each : find_records(places)) {
      std::error_code error;
      const std::uintmax_t size = std::filesystem::file_size(each, error);
      out += out.ends_with('[') ? "{\"record\":" : ",{\"record\":";
      append_json_string(out, each.filename().string());
      out += ",\"bytes\":" + std::to_string(error ? 0 : size) + "}";
    }
    return out + "]}\n";
  });
  const std::string text = co_await std::move(listing);
  reply(context, x, endpoint::traffic, http_status::ok, json_type, text);
}

/// Answers with lines. The first lines report the progress, and the last line contains the result. If the client
/// disconnects, the comparison stops.
auto answer_diff_traffic(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::diff_traffic;
  const std::string id(given_request_id(x.request()));
  auto pair = asked_pair(context, x, which);
  if (!pair) co_return;
  const auto run = asked_traffic(context, x, std::move(*pair));
  if (run == nullptr) co_return;
  auto listing = braid::offload(context.runtime->blocking(),
                                [places = context.serving().traffic_places] { return find_records(places); });
  run->files = co_await std::move(listing);
  if (!run->record.empty())
    std::erase_if(run->files, [&](const auto& each) { return each.filename().string() != run->record; });
  if (run->files.empty())
    co_return reply(context, x, which,
                    answer_error(http_status::not_found, "unknown_record",
                                 run->record.empty() ? "this server has no recorded traffic"
                                                     : "no recording is called " + quote_name(run->record),
                                 id));
  auto only = enter_route(context, which);
  if (!only) {
    static_cast<void>(x.set_field("Retry-After", "1"));
    co_return reply(context, x, which,
                    answer_error(http_status::too_many_requests, "comparison_busy",
                                 "another comparison on recorded traffic is running; try again later", id));
  }
  // The thread of the comparison owns the permit, so the permit may be released a little after the client has
  // disconnected.
  auto place = std::make_shared<in_flight_shares::pass>(std::move(*only));
  struct give_up {
    std::shared_ptr<traffic_run> run;
    ~give_up() { run->is_given_up.store(true, braid::relaxed); }
  };
  const give_up at_the_end{run};
  auto work = [run, place = std::move(place), shared = context.shared]() mutable {
    run->run_to_end(shared->stopping);
    place.reset();
  };
  if (!braid::post(context.runtime->blocking(), std::move(work))) run->refuse();
  context.metrics.count_answer(which, http_status::ok);
  x.begin(http_status::ok, json_lines_type);
  for (auto pause = first_pause; !run->has_ended(); pause = std::min(2 * pause, max_pause)) {
    co_await braid::sleep_for(pause);
    if (pause < max_pause) continue;
    const std::string line = run->progress();
    auto writing = x.write(line);
    const braid::result<void> sent = co_await std::move(writing);
    if (!sent) co_return;
  }
  const std::string text = run->last_line(id);
  auto writing = x.write(text);
  static_cast<void>(co_await std::move(writing));
}

}  // namespace rankd::detail
