// rankd/embed/ranker.cpp: loads plans, opens stores and starts threads when they are used for the first time, and runs
// requests.
#include <rankd/embed/ranker.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/engine/plans/plan_experiments.hpp>
#include <rankd/engine/requests/page_cursors.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/row_id.hpp>

#include <braid/base/config.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <unistd.h>

namespace rankd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds between_questions{20};  // several of them in the 100 ms that a person may wait for Ctrl-C

/// The maximum number of plan names to cache. Names of plans that do not exist are cached as well, and requests may
/// contain any number of such names.
constexpr std::size_t max_known_plans = 1'000;

/// The process that opened the first ranker, or 0 if no ranker was opened.
braid::atomic<::pid_t> first_process{0};

/// Checks that the calling process is the owner. A forked child does not have the owner's threads.
auto check_process(::pid_t owner) -> braid::diagnostics {
  const ::pid_t here = ::getpid();
  if (owner == here) return {};
  return make_diagnostic("forked",
                         "process " + std::to_string(here) + " was forked from process " + std::to_string(owner) +
                             ", which had opened a ranker; the ranker's threads do not exist in a forked process",
                         "open rankers in newly started processes, for example by multiprocessing with `spawn`");
}

/// Stores the id of the first process that opens a ranker. Refuses to open rankers in forked children of that process.
auto enter_process() -> braid::diagnostics {
  ::pid_t first = 0;
  first_process.compare_exchange_strong(first, ::getpid(), braid::relaxed, braid::relaxed);
  return check_process(first == 0 ? ::getpid() : first);
}

auto without_result(std::shared_ptr<const workspace> owner, braid::diagnostics problems, std::string request_id = {})
    -> rank_answer {
  return {.owner = std::move(owner), .problems = std::move(problems), .request_id = std::move(request_id)};
}

/// Refuses a plan whose answers depend on time, because the same request may have different answers. Accepts such a
/// plan if `fallbacks` allows it.
auto check_time(const bound_plan& plan, time_fallbacks fallbacks) -> braid::diagnostics {
  if (fallbacks == time_fallbacks::allowed || !depends_on_time(plan)) return {};
  return make_diagnostic("depends_on_time",
                         "plan `" + plan.name + "` has fallbacks for late nodes, so its answers depend on time",
                         "to run it anyway, use --allow-degraded, or allow_degraded=True in Python");
}

auto interrupted(std::string_view work) -> braid::diagnostics {
  return make_diagnostic("interrupted", std::string(work) + " was interrupted");
}

/// Runs a task on a loop of the runtime. If `is_interrupted` returns true, asks the task to stop, and returns nothing
/// at once. The runtime waits for the task when the runtime ends.
auto run_on(braid::runtime& runtime, braid::task<ranking> work, const std::function<bool()>& is_interrupted)
    -> std::optional<ranking> {
  if (!is_interrupted) return runtime.run(std::move(work));
  auto running = braid::spawn(runtime.io(), std::move(work));
  while (!running.wait_for(between_questions)) {
    if (!is_interrupted()) continue;
    running.request_stop();
    return std::nullopt;
  }
  return running.get();
}

/// Adds to a request the ids that its answer must explain.
auto add_explained(rank_request& request, std::span<const std::string> ids, value_type id_type) -> braid::diagnostics {
  request.explain = explain_mode::on;
  braid::diagnostics problems;
  for (std::size_t at = 0; at < ids.size(); ++at) {
    auto id = parse_id(ids[at], id_type);
    if (!id)
      problems.append(
          request_problem("bad_id", "/explain/ids/" + std::to_string(at),
                          "an id is " + std::string(id_sentence(id_type)) + ", not " + quote_name(ids[at])));
    else if (std::ranges::find(request.explain_ids, *id) == request.explain_ids.end())
      request.explain_ids.push_back(std::move(*id));
  }
  if (request.explain_ids.size() > max_explained_ids)
    problems.append(request_problem("too_many_ids", "/explain/ids",
                                    "at most " + std::to_string(max_explained_ids) + " ids are explained"));
  return problems;
}

}  // namespace

/// The contents of the project at the time of one load, and the engines and threads that use these contents.
struct ranker::generation {
  using found_plan = braid::checked<std::shared_ptr<const bound_plan>>;

  const ranker_options* options = nullptr;
  std::shared_ptr<const workspace> in;
  std::mutex mutex;  // guards what follows
  std::vector<std::unique_ptr<store>> stores;
  std::map<std::string, found_plan, std::less<>> plans;
  std::map<const bound_plan*, std::unique_ptr<engine>> engines;
  std::unique_ptr<braid::runtime> on;  // the last member: its last tasks use engines, plans and stores

  auto find_plan(std::string_view name) -> found_plan;
  auto rank(std::string_view text, const rank_call& call) -> rank_answer;
  auto rank_many(const line_source& source, const answer_sink& sink, const many_options& call) -> braid::checked<void>;

  /// Opens the stores that a plan reads, or all stores if `plan` is null. Requires that the caller holds the lock.
  auto open_stores_for(const bound_plan* plan) -> braid::checked<std::vector<store*>>;
  /// Returns the engine of a plan. Each plan has its own engine, which uses the stores that this plan reads.
  auto engine_for(const bound_plan& plan) -> braid::checked<engine*>;
  [[nodiscard]] auto engine_settings() const -> engine_options;
};

auto ranker::generation::find_plan(std::string_view name) -> found_plan {
  const std::scoped_lock lock(mutex);
  auto found = plans.find(name);
  if (found == plans.end()) {
    auto loaded = in->load_named_plan(name);
    if (!loaded && plans.size() >= max_known_plans) return std::unexpected(std::move(loaded.error()));
    found = plans
                .emplace(name, loaded ? found_plan(std::make_shared<const bound_plan>(std::move(*loaded)))
                                      : found_plan(std::unexpect, std::move(loaded.error())))
                .first;
  }
  return found->second;
}

auto ranker::generation::open_stores_for(const bound_plan* plan) -> braid::checked<std::vector<store*>> {
  const auto endpoints = in->declared.endpoints();
  stores.resize(endpoints.size());
  std::vector<store*> out(endpoints.size());
  for (std::size_t at = 0; at < endpoints.size(); ++at) {
    if (plan != nullptr && !reads_endpoint(*plan, endpoints[at])) continue;
    if (stores[at] == nullptr) {
      auto opened = open_endpoint_store(*in, endpoints[at], {.observer = options->observer});
      if (!opened) return std::unexpected(std::move(opened.error()));
      stores[at] = std::move(*opened);
    }
    out[at] = stores[at].get();
  }
  return out;
}

auto ranker::generation::engine_settings() const -> engine_options {
  engine_options how;
  if (options->node_timeout) how.node_timeout = *options->node_timeout;
  how.cursors = make_page_cursors(in->where.cursors);
  return how;
}

auto ranker::generation::engine_for(const bound_plan& plan) -> braid::checked<engine*> {
  const std::scoped_lock lock(mutex);
  if (const auto found = engines.find(&plan); found != engines.end()) return found->second.get();
  auto opened = open_stores_for(&plan);
  if (!opened) return std::unexpected(std::move(opened.error()));
  if (on == nullptr) {
    auto made = braid::runtime::create({.workers = options->workers, .name = "rankd"});
    if (!made) return std::unexpected(no_runtime(made.error()));
    on = std::move(*made);
  }
  auto made = std::make_unique<engine>(*on, in->declared, std::move(*opened), engine_settings());
  return engines.emplace(&plan, std::move(made)).first->second.get();
}

auto ranker::generation::rank(std::string_view text, const rank_call& call) -> rank_answer {
  auto request = parse_request(text, in->declared);
  if (!request) return without_result(in, std::move(request.error()), find_request_id(text));
  const std::string id = request->request_id;
  const auto name = plan_to_run(*request, call.plan.empty() ? options->plan : call.plan);
  if (!name) return without_result(in, name.error(), id);
  const found_plan plan = find_plan(*name);
  if (!plan) return without_result(in, plan_diagnostics(*request, plan.error()), id);
  if (call.adjust)
    if (auto problems = call.adjust(*request, *in); !problems.empty()) return without_result(in, problems, id);
  if (auto missing = fit_to_plan(*request, **plan, in->declared); !missing.empty())
    return without_result(in, std::move(missing), id);
  const auto with = engine_for(**plan);
  if (!with) return without_result(in, with.error(), id);
  auto answer = run_on(*on, (*with)->rank(*plan, std::move(*request)), call.is_interrupted);
  if (!answer) return without_result(in, interrupted("the request"), id);
  return {.owner = in, .result = std::move(answer)};
}

auto ranker::generation::rank_many(const line_source& source, const answer_sink& sink, const many_options& call)
    -> braid::checked<void> {
  const auto find = [this, &call](std::string_view name) -> braid::checked<const bound_plan*> {
    const found_plan plan = find_plan(name);
    if (!plan) return std::unexpected(plan.error());
    if (auto problems = check_time(**plan, call.fallbacks); !problems.empty())
      return std::unexpected(std::move(problems));
    return plan->get();
  };
  const std::string& name = call.plan.empty() ? options->plan : call.plan;
  const auto given = name.empty() ? braid::checked<const bound_plan*>(nullptr) : find(name);
  if (!given) return std::unexpected(given.error());
  auto opened = [&] {
    const std::scoped_lock lock(mutex);
    return open_stores_for(*given);
  }();
  if (!opened) return std::unexpected(std::move(opened.error()));
  engine_options settings = engine_settings();
  settings.times = budget_times::ignored;
  settings.cache = {.bytes = call.cache_mib << 20U, .entries = in->where.cache.entries};
  const auto runner = batch_runner::create(
      in->declared, *opened,
      {.workers = call.workers.value_or(options->workers),
       .in_flight = call.in_flight,
       .given_plan = *given == nullptr ? std::string() : (*given)->name,
       .find_plan = [&](std::string_view wanted) { return *given != nullptr ? *given : find(wanted); },
       .engine = std::move(settings)});
  if (!runner) return std::unexpected(runner.error());
  const auto is_interrupted = [&call] { return call.is_interrupted && call.is_interrupted(); };
  for (bool at_end = false;;) {
    if (is_interrupted()) return std::unexpected(interrupted("the batch"));
    while (!at_end && (*runner)->wants_more()) {
      auto lines = source();
      if (!lines) return std::unexpected(std::move(lines.error()));
      at_end = lines->empty();
      if (!at_end) (*runner)->submit(std::move(*lines));
    }
    while (!(*runner)->wait_for(between_questions))
      if (is_interrupted()) return std::unexpected(interrupted("the batch"));
    auto answers = (*runner)->next();
    if (!answers) return {};
    if (auto done = sink(std::move(*answers)); !done) return done;
  }
}

ranker::ranker(ranker_options options) : options_(std::move(options)), process_(::getpid()) {}

ranker::~ranker() {
  // A forked child must not join threads, because a fork does not copy threads. So the generation is leaked, and the
  // system frees its memory when the child ends.
  if (process_ != ::getpid()) new std::shared_ptr<generation>(std::move(current_));
}

auto ranker::open(ranker_options options) -> braid::checked<std::unique_ptr<ranker>> {
  if (auto problems = enter_process(); !problems.empty()) return std::unexpected(std::move(problems));
  std::unique_ptr<ranker> made(new ranker(std::move(options)));
  auto first = made->open_generation();
  if (!first) return std::unexpected(std::move(first.error()));
  made->current_ = std::move(*first);
  return made;
}

auto ranker::open_generation() const -> braid::checked<std::shared_ptr<generation>> {
  auto opened = workspace::open(options_.project, options_.choice);
  if (!opened) return std::unexpected(std::move(opened.error()));
  auto made = std::make_shared<generation>();
  made->options = &options_;
  made->in = std::make_shared<const workspace>(std::move(*opened));
  if (options_.plan.empty()) return made;
  const auto plan = made->find_plan(options_.plan);
  if (!plan) return std::unexpected(plan.error());
  if (const auto ready = made->engine_for(**plan); !ready) return std::unexpected(ready.error());
  return made;
}

auto ranker::current() const -> std::shared_ptr<generation> {
  const std::scoped_lock lock(mutex_);
  return current_;
}

auto ranker::project() const -> std::shared_ptr<const workspace> { return current()->in; }

auto ranker::find_plan(std::string_view name, time_fallbacks fallbacks)
    -> braid::checked<std::shared_ptr<const bound_plan>> {
  if (auto problems = check_process(process_); !problems.empty()) return std::unexpected(std::move(problems));
  const auto at = current();
  auto plan = at->find_plan(name);
  if (!plan) return plan;
  if (auto problems = check_time(**plan, fallbacks); !problems.empty()) return std::unexpected(std::move(problems));
  return plan;
}

auto ranker::rank(std::string_view text, const rank_call& call) -> rank_answer {
  if (auto problems = check_process(process_); !problems.empty()) return without_result({}, std::move(problems));
  return current()->rank(text, call);
}

auto ranker::explain(std::string_view text, std::span<const std::string> ids, const rank_call& call) -> rank_answer {
  rank_call with = call;
  with.adjust = [ids, &call](rank_request& request, const workspace& workspace) {
    auto problems = call.adjust ? call.adjust(request, workspace) : braid::diagnostics();
    problems.append(add_explained(request, ids, workspace.declared.id_type()));
    return problems;
  };
  return rank(text, with);
}

auto ranker::rank_many(const line_source& source, const answer_sink& sink, const many_options& options)
    -> braid::checked<void> {
  if (auto problems = check_process(process_); !problems.empty()) return std::unexpected(std::move(problems));
  return current()->rank_many(source, sink, options);
}

auto ranker::plans() const -> braid::checked<plan_list> {
  if (auto problems = check_process(process_); !problems.empty()) return std::unexpected(std::move(problems));
  return list_plans(*project());
}

auto ranker::validate(std::vector<std::string> names) const -> braid::checked<std::vector<plan_verdict>> {
  if (auto problems = check_process(process_); !problems.empty()) return std::unexpected(std::move(problems));
  return validate_plans(*project(), std::move(names));
}

auto ranker::reload() -> braid::checked<void> {
  if (auto problems = check_process(process_); !problems.empty()) return std::unexpected(std::move(problems));
  auto next = open_generation();
  if (!next) return std::unexpected(std::move(next.error()));
  const std::scoped_lock lock(mutex_);
  current_.swap(*next);  // the earlier one ends with its last request
  return {};
}

auto to_json(const rank_answer& answer) -> std::string {
  return answer.result ? to_json(*answer.result) : to_json(answer.problems, answer.request_id);
}

}  // namespace rankd
