// rankd/cli/serve_command.cpp: rankd serve: plans behind HTTP, until a signal.
#include <rankd/cli/commands.hpp>
#include <rankd/cli/complaint.hpp>
#include <rankd/cli/report.hpp>
#include <rankd/cli/workspace.hpp>
#include <rankd/engine/engine.hpp>
#include <rankd/plan/catalog.hpp>
#include <rankd/serve/line_file.hpp>
#include <rankd/serve/plan_source.hpp>
#include <rankd/serve/rank_server.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/signal_set.hpp>
#include <braid/thread/worker_count.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rankd {
namespace {

auto all_plans(const workspace& in) -> braid::checked<std::vector<known_plan>> {
  const auto artifacts = list_artifacts(in.where.plans);
  if (!artifacts) return std::unexpected(artifacts.error());
  std::vector<known_plan> plans;
  for (const artifact& each : *artifacts) {
    auto bound = in.load_plan_of(each.name);
    known_plan& plan = plans.emplace_back();
    plan.name = each.name;
    if (bound)
      plan.bound = std::make_shared<const bound_plan>(std::move(*bound));
    else
      plan.problems = std::move(bound.error());
  }
  const bool any = std::ranges::any_of(plans, [](const known_plan& each) { return each.bound != nullptr; });
  if (!any) return refused("no_plans", "no plan of the project can be run", "rankd validate says why");
  return plans;
}

void tell_of_plans(const serve_log& log, const plan_source& plans) {
  for (const auto& each : plans.list()) {
    if (each->bound)
      log.note(log_level::debug, "plan_loaded", {{"plan", each->name}, {"digest", each->bound->digest}});
    else
      log.note(
          log_level::warning, "plan_refused",
          {{"plan", each->name}, {"code", each->problems.front().code}, {"message", each->problems.front().message}});
  }
}

/// Where lines go.
struct outputs {
  std::unique_ptr<line_file> log;
  std::unique_ptr<line_file> audit;

  static auto open(const serve_command_options& options) -> braid::checked<outputs> {
    outputs made;
    auto log = options.log.empty() ? line_file::standard_error() : line_file::open(options.log);
    if (!log) return std::unexpected(std::move(log.error()));
    made.log = std::move(*log);
    if (options.audit.empty()) return made;
    auto audit = line_file::open(options.audit);
    if (!audit) return std::unexpected(std::move(audit.error()));
    made.audit = std::move(*audit);
    return made;
  }
};

/// The thread that called the command: it starts the server, and waits for signals and for the end.
struct control {
  const serve_command_options& options;
  serve_context context;
  outputs& files;
  serve_options server_options;
  std::unique_ptr<braid::loop> on;
  std::unique_ptr<rank_server> server;
  braid::diagnostics problems;  // why it did not start

  void start() {
    context.on_end = [this] { on->stop(); };
    on->spawn(obey(*this));
    auto started = rank_server::start(context, server_options);
    if (!started) {
      problems = std::move(started.error());
      on->stop();
      return;
    }
    server = std::move(*started);
    const std::string address = server->address().to_string();
    print("listening on http://" + address + "\n");
    std::fflush(stdout);
    context.log.note(log_level::info, "listening", {{"address", address}});
  }

  static auto obey(control& by) -> braid::task<void> {
    auto signals = braid::signal_set::create(*by.on, {SIGTERM, SIGINT, SIGHUP});
    if (!signals) {
      by.context.log.note(log_level::error, "no_signals", {{"message", signals.error().message()}});
      co_return;
    }
    for (bool stopping = false;;) {
      auto next = signals->next();
      const braid::result<int> got = co_await std::move(next);
      if (!got) co_return;
      if (*got == SIGHUP) {
        by.files.log->reopen();
        if (by.files.audit) by.files.audit->reopen();
        continue;
      }
      by.context.log.note(log_level::info, stopping ? "stopping_at_once" : "stopping");
      if (by.server == nullptr) co_return by.on->stop();
      if (stopping) {
        by.server->begin_stop(braid::duration::zero());
        continue;
      }
      stopping = true;
      by.server->announce_stop();
      by.on->spawn(stop_later(by));
    }
  }

  static auto stop_later(control& by) -> braid::task<void> {
    if (by.options.announcement.count() > 0) co_await braid::sleep_for(by.options.announcement);
    by.server->begin_stop(by.options.grace);
  }
};

}  // namespace

auto serve_command(const serve_command_options& options) -> exit_status {
  std::signal(SIGPIPE, SIG_IGN);  // whoever reads the log may go away; the server stays
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error());
  serve_options server_options = options.server;
  if (server_options.loops == 0) server_options.loops = braid::default_worker_count().workers;
  if (!options.token_file.empty()) {
    auto tokens = token_list::read(options.token_file);
    if (!tokens) return report(tokens.error());
    server_options.tokens = std::move(*tokens);
  }
  auto loaded = all_plans(*in);
  if (!loaded) return report(loaded.error());
  const fixed_plans plans(std::move(*loaded));
  const auto stores = open_all_stores(*in);
  if (!stores) return report(stores.error());
  auto files = outputs::open(options);
  if (!files) return report(files.error());
  auto on = braid::loop::create();
  if (!on) return report(no_runtime(on.error()));

  const serve_log log(*files->log, options.level);
  tell_of_plans(log, plans);
  control by{.options = options,
             .context = {.declared = &in->declared,
                         .stores = stores->pointers(),
                         .plans = &plans,
                         .log = log,
                         .audit = files->audit.get()},
             .files = *files,
             .server_options = std::move(server_options),
             .on = std::move(*on),
             .server = nullptr,
             .problems = {}};
  by.on->run([&by] { by.start(); });
  by.server.reset();
  if (!by.problems.empty()) return report(by.problems);
  log.note(log_level::info, "stopped");
  return exit_status::fine;
}

}  // namespace rankd
