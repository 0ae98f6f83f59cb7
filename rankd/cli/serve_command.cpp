// rankd/cli/serve_command.cpp: rankd serve: plans behind HTTP, until a signal.
#include <rankd/cli/commands.hpp>
#include <rankd/cli/project_compiler.hpp>
#include <rankd/cli/report.hpp>
#include <rankd/cli/service_manager.hpp>
#include <rankd/cli/workspace.hpp>
#include <rankd/engine/engine.hpp>
#include <rankd/engine/page_cursors.hpp>
#include <rankd/engine/plan_library.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/registry_change.hpp>
#include <rankd/server/arrow_file.hpp>
#include <rankd/server/counter_writer.hpp>
#include <rankd/server/embedded_counters.hpp>
#include <rankd/server/event_log.hpp>
#include <rankd/server/event_rules.hpp>
#include <rankd/server/line_file.hpp>
#include <rankd/server/plan_changes.hpp>
#include <rankd/server/plan_source.hpp>
#include <rankd/server/rank_server.hpp>
#include <rankd/server/span_exporter.hpp>
#include <rankd/server/store_scrubber.hpp>
#include <rankd/server/traffic_images.hpp>
#include <rankd/server/traffic_writer.hpp>
#include <rankd/store/counted_store.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/process.hpp>
#include <braid/thread/cgroup.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace rankd {
namespace {

/// Where lines go.
struct outputs {
  std::unique_ptr<line_file> log;
  std::unique_ptr<line_file> audit;
  std::unique_ptr<line_file> captures;
  std::unique_ptr<arrow_file> arrow_captures;
  std::unique_ptr<line_file> exposures;

  static auto open(const serve_command_options& options) -> braid::checked<outputs> {
    outputs made;
    auto log = options.log.empty() ? line_file::standard_error() : line_file::open(options.log);
    if (!log) return std::unexpected(std::move(log.error()));
    made.log = std::move(*log);
    const auto add = [](auto opened, auto& place) -> braid::checked<void> {
      if (!opened) return std::unexpected(std::move(opened.error()));
      place = std::move(*opened);
      return {};
    };
    const auto series = [&options](const std::filesystem::path& folder, std::string name, std::string suffix) {
      return file_series::options{.folder = folder,
                                  .name = std::move(name),
                                  .max_bytes = options.segment_mib << 20U,
                                  .suffix = std::move(suffix)};
    };
    braid::checked<void> fine;
    if (!options.audit.empty()) fine = add(line_file::open(options.audit), made.audit);
    if (fine && !options.captures.empty() && options.captures_in == capture_form::ndjson)
      fine = add(line_file::series(series(options.captures, "captures", ".ndjson")), made.captures);
    if (fine && !options.captures.empty() && options.captures_in == capture_form::arrow)
      fine = add(arrow_file::open({.series = series(options.captures, "captures", ".arrows")}), made.arrow_captures);
    if (fine && !options.exposures.empty())
      fine = add(line_file::series(series(options.exposures, "exposures", ".ndjson")), made.exposures);
    if (!fine) return std::unexpected(std::move(fine.error()));
    return made;
  }

  /// Says in the log which file could not be reopened, and when it was. Lifetime: the files outlive the log.
  void report_to(const serve_log& to) const {
    const auto listen = [&to](auto& file, std::string_view name) {
      if (file == nullptr) return;
      file->reopened().listen([to, name](std::error_code why) {
        if (why)
          to.note(log_level::error, "file_not_reopened", {{"file", name}, {"message", why.message()}});
        else
          to.note(log_level::info, "file_reopened", {{"file", name}});
      });
    };
    listen(log, "log");
    listen(audit, "audit");
    listen(captures, "captures");
    listen(arrow_captures, "captures");
    listen(exposures, "exposures");
  }

  /// Before the next lines.
  void reopen() const {
    for (line_file* each : {log.get(), audit.get(), captures.get(), exposures.get()})
      if (each != nullptr) each->reopen();
    if (arrow_captures != nullptr) arrow_captures->reopen();
  }
};

/// Nothing where no file is named.
auto read_tokens(const std::filesystem::path& file) -> braid::checked<std::optional<token_list>> {
  if (file.empty()) return std::nullopt;
  auto read = token_list::read(file);
  if (!read) return std::unexpected(std::move(read.error()));
  return std::move(*read);
}

/// Tokens and certificates as the files have them now.
auto renew(rank_server& server, const std::filesystem::path& token_file) -> braid::checked<std::function<void()>> {
  auto tokens = read_tokens(token_file);
  if (!tokens) return std::unexpected(std::move(tokens.error()));
  return server.renew(std::move(*tokens));
}

/// Null where no traffic is to be recorded. Lifetime: the workspace outlives it, and the file of the log.
auto open_traffic(const serve_command_options& options, const workspace& in, const serve_log& log)
    -> braid::checked<std::unique_ptr<traffic_writer>> {
  if (options.record.empty()) return nullptr;
  const auto project = image_of(in.where, in.declared, RANKD_VERSION);
  if (!project) return std::unexpected(project.error());
  const auto report_plan = [log](const bound_plan& plan, const braid::diagnostics& problems) {
    log.note(log_level::warning, "not_recorded", {{"plan", plan.name}, {"message", problems.to_text()}});
  };
  return traffic_writer::open(
      options.record, *project,
      {.share = options.record_share,
       .max_bytes = options.record_max_mib << 20U,
       .image_of = [&in](const bound_plan& plan) { return image_of(plan, in.where, in.declared); },
       .on_no_image = report_plan});
}

/// What takes events; without a log where there is no folder for one.
struct event_takers {
  event_rules rules;
  std::unique_ptr<counter_writer> counters;
  std::unique_ptr<embedded_counters> embedded;
  std::unique_ptr<event_log> log;  // writes to the counters

  /// Lays counters over the embedded stores that have some, before these are given to others.
  static auto open(const serve_command_options& options, const workspace& in, const serve_log& log, open_stores& over)
      -> braid::checked<std::unique_ptr<event_takers>> {
    auto made = std::make_unique<event_takers>();
    auto rules = event_rules::load(in.where.registry, in.declared);
    if (!rules) return std::unexpected(std::move(rules.error()));
    made->rules = std::move(*rules);
    if (options.events.empty()) return made;
    made->embedded = embedded_counters::make(made->rules, in.declared,
                                             {.folder = options.events,
                                              .max_bytes = options.counters_mib << 20U,
                                              .window = options.event_window,
                                              .log = log});
    for (std::size_t at = 0; made->embedded != nullptr && at < over.owned.size(); ++at)
      if (auto hashes = made->embedded->hashes_of(at); hashes != nullptr && over.owned[at] != nullptr)
        over.owned[at] = std::make_unique<counted_store>(std::move(over.owned[at]), std::move(hashes));
    return made;
  }

  auto start(const serve_command_options& options, const workspace& in, const serve_log& to) -> braid::checked<void> {
    if (options.events.empty()) return {};
    event_log_options how{
        .folder = options.events, .max_bytes = options.segment_mib << 20U, .window = options.event_window, .log = to};
    if (!rules.counters().empty()) {
      auto started = counter_writer::start(rules, in.declared, to);
      if (!started) return std::unexpected(std::move(started.error()));
      counters = std::move(*started);
      how.on_written = [this](std::vector<counter_step> steps, event_position after) {
        if (embedded != nullptr) embedded->add(steps, after);
        if (counters != nullptr) counters->add(std::move(steps));
      };
    }
    if (embedded != nullptr) how.on_end = [this] { embedded->end(); };
    auto opened = event_log::open(std::move(how));
    if (!opened) return std::unexpected(std::move(opened.error()));
    log = std::move(*opened);
    return embedded == nullptr ? braid::checked<void>() : embedded->start();
  }

  void give(serve_context& to) const {
    to.events = log.get();
    to.rules = &rules;
    to.counters = counters.get();
    to.embedded = embedded.get();
  }
};

/// After a start that failed: the file has no request, and would stand in the way of the next start.
void remove_record(const serve_command_options& options) {
  std::error_code ignored;
  if (!options.record.empty()) std::filesystem::remove(options.record, ignored);
}

/// The embedded stores among those of a workspace, by the ids of their endpoints.
auto scrubbed_of(const workspace& in, const open_stores& stores) -> std::vector<store_scrubber::target> {
  std::vector<store_scrubber::target> found;
  for (std::size_t at = 0; at < stores.owned.size(); ++at)
    if (const endpoint_entry& each = in.declared.endpoints()[at];
        stores.owned[at] && std::holds_alternative<embedded_resolver>(each.resolver))
      found.push_back({.endpoint_id = each.endpoint_id, .reads = stores.owned[at].get()});
  return found;
}

/// Stores for candidates: connections of their own to each Redis, so that no served request waits behind them. An
/// embedded store has none, and is opened once.
auto open_shadow_stores(const workspace& in, const open_stores& served) -> braid::checked<shadow_stores> {
  shadow_stores out;
  for (std::size_t at = 0; at < served.owned.size(); ++at) {
    const endpoint_entry& endpoint = in.declared.endpoints()[at];
    out.all.push_back(served.owned[at].get());
    if (served.owned[at] == nullptr || std::holds_alternative<embedded_resolver>(endpoint.resolver)) continue;
    auto made = open_store(endpoint, in.where.root, server_messages::hidden);
    if (!made) return std::unexpected(std::move(made.error()));
    out.all.back() = out.own.emplace_back(std::move(*made)).get();
  }
  return out;
}

/// What a project states about plans that it does not have.
auto strangers_in(const workspace& in, const reload_report& loaded) -> braid::diagnostics {
  std::vector<std::string> plans = loaded.added;
  for (const left_out_plan& each : loaded.left_out) plans.push_back(each.name);
  braid::diagnostics all = in.where.budgets.strangers(plans);
  all.append(in.experiments.strangers(plans));
  all.append(strangers_of(in.where.shadows, plans));
  return all;
}

/// Whether requests are recorded, with the registries of the start.
enum class recording : std::uint8_t { off, on };

/// Those of the project as they are on disk now.
auto read_registries(const project& where, recording recorded, const std::shared_ptr<const registries>& now)
    -> braid::checked<registry_change> {
  auto read = registries::load(where.registry, where.environment);
  if (!read) return std::unexpected(std::move(read.error()));
  // A param that has another name would be shown.
  if (auto hides = redaction::make(where.redacted, *read); !hides) return std::unexpected(std::move(hides.error()));
  auto change = change_registries(now, std::move(*read));
  if (change && change->next != now && recorded == recording::on)
    return refused("needs_restart", "the registries have changed, and requests are recorded with those of the start",
                   "restart the server, with another file to record into");
  return change;
}

/// The candidates that the project names now.
auto read_shadows(const std::filesystem::path& root) -> braid::checked<std::vector<shadow_settings>> {
  auto now = project::load(root);
  if (!now) return std::unexpected(std::move(now.error()));
  return std::move(now->shadows);
}

/// What reloads take from the project. Lifetime: the workspace outlives the changes.
void read_anew(plan_changes& changes, const workspace& in, recording recorded) {
  changes.budgets_by([root = in.where.root]() -> braid::checked<plan_budgets> {
    auto now = project::load(root);
    if (!now) return std::unexpected(std::move(now.error()));
    if (auto changed = changed_operators(now->operators); !changed.empty()) return std::unexpected(std::move(changed));
    return std::move(now->budgets);
  });
  changes.experiments_by(
      [&in](const registries& declared) { return experiment_set::load(in.where.registry, declared); });
  changes.registries_by([&in, recorded](const std::shared_ptr<const registries>& now) {
    return read_registries(in.where, recorded, now);
  });
}

/// The thread that called the command: it starts the server, and waits for signals and for the end.
struct control {
  const serve_command_options& options;
  std::filesystem::path root;  // of the project
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
    if (!options.token_file.empty() || server_options.tls)
      context.changes->reload_with([by = server.get(), file = options.token_file] { return renew(*by, file); });
    context.changes->shadows_by(
        [root = root] { return read_shadows(root); },
        [by = server.get()](std::vector<shadow_settings> next) { return by->renew_shadows(std::move(next)); });
    const std::string address = server->address().to_string();
    std::string lines = (server_options.tls ? "listening on https://" : "listening on http://") + address + "\n";
    if (!options.page_token.empty()) lines += "open http://" + address + "/ui#token=" + options.page_token + "\n";
    print(lines);
    std::fflush(stdout);
    context.log.note(log_level::info, "listening", {{"address", address}});
    notify_service_manager("READY=1\nSTATUS=listening on " + address);
  }

  void reload() {
    files.reopen();
    static_cast<void>(context.changes->reload());  // which reports what is wrong
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
        by.reload();
        continue;
      }
      by.context.log.note(log_level::info, stopping ? "stopping_at_once" : "stopping");
      if (by.server == nullptr) co_return by.on->stop();
      if (stopping) {
        by.server->begin_stop(braid::duration::zero());
        continue;
      }
      stopping = true;
      notify_service_manager("STOPPING=1");
      if (by.context.drafts != nullptr) by.context.drafts->close();
      by.server->announce_stop();
      by.on->spawn(stop_later(by));
    }
  }

  static auto stop_later(control& by) -> braid::task<void> {
    if (by.options.announcement.count() > 0) co_await braid::sleep_for(by.options.announcement);
    by.server->begin_stop(by.options.grace);
  }
};

/// Serves until a signal.
auto run_to_end(control& by) -> exit_status {
  by.on->run([&by] { by.start(); });
  by.server.reset();
  if (!by.problems.empty()) {
    remove_record(by.options);
    return report(by.problems);
  }
  by.context.log.note(log_level::info, "stopped");
  return exit_status::fine;
}

/// With the tokens and the certificate that the files have.
auto server_options_of(const serve_command_options& options) -> braid::checked<serve_options> {
  serve_options server_options = options.server;
  server_options.stall_limit = options.stall_limit;
  server_options.trace_slow = options.trace_slow;
  if (server_options.loops == 0) server_options.loops = braid::default_worker_count().workers;
  auto tokens = read_tokens(options.token_file);
  if (!tokens) return std::unexpected(std::move(tokens.error()));
  if (*tokens) server_options.tokens = std::move(*tokens);
  if (!options.tls_cert.empty()) {
    for (const std::string& file : {options.tls_cert, options.tls_key})
      if (auto text = read_text_file(file); !text) return std::unexpected(std::move(text.error()));
    server_options.tls = {.chain = braid::tls_context::pem::file(options.tls_cert),
                          .key = braid::tls_context::pem::file(options.tls_key)};
  }
  return server_options;
}

/// Of rankd.toml; the command line has the last word.
void take_settings(const project& where, const serve_command_options& options, engine_options& into) {
  into.cursors = make_page_cursors(where.cursors);
  into.cache = {.bytes = options.cache_mib.value_or(where.cache.mib) << 20U, .entries = where.cache.entries};
}

/// Null where spans go nowhere.
auto open_exporter(const serve_command_options& options, const serve_log& log)
    -> braid::checked<std::unique_ptr<span_exporter>> {
  if (options.collector.empty()) return nullptr;
  return span_exporter::start({.url = options.collector, .share = options.span_share}, log);
}

/// Nothing where there is no studio: what others have asked is not for every client.
auto traffic_places_of(const serve_command_options& options, const workspace& in)
    -> std::vector<std::filesystem::path> {
  if (options.page_token.empty()) return {};
  return options.traffic.empty() ? std::vector<std::filesystem::path>{in.where.root} : options.traffic;
}

/// Null where there is no studio.
auto drafts_of(const serve_command_options& options, const workspace& in, plan_library& library)
    -> std::unique_ptr<draft_plans> {
  return options.page_token.empty() ? nullptr : open_drafts(in.where.root, library, options.compiler);
}

auto library_options_of(const serve_command_options& options, const workspace& in) -> plan_library_options {
  return {.budgets = in.where.budgets,
          .experiments = in.experiments,
          .models = in.where.models,
          .on_bad_plan = options.on_bad_plan,
          .root = in.where.root};
}

}  // namespace

auto serve_command(const serve_command_options& options) -> exit_status {
  std::signal(SIGPIPE, SIG_IGN);  // the reader of the log may go away; the server stays
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error());
  auto how = server_options_of(options);
  if (!how) return report(how.error());
  take_settings(in->where, options, how->engine);
  auto redacted = redaction::make(in->where.redacted, in->declared);
  if (!redacted) return report(redacted.error());
  plan_library library(in->declared, library_options_of(options, *in));
  const auto loaded = library.reload(in->where.plans);
  if (!loaded) return report(loaded.error());
  if (const auto strangers = strangers_in(*in, *loaded); !strangers.empty()) return report(strangers);
  const library_plans plans(library);
  auto stores = open_all_stores(*in, server_messages::hidden);  // its clients are others
  if (!stores) return report(stores.error());
  auto files = outputs::open(options);
  if (!files) return report(files.error());
  const serve_log log(*files->log, options.level);
  files->report_to(log);
  const auto events = event_takers::open(options, *in, log, *stores);
  if (!events) return report(events.error());
  auto on = braid::loop::create();
  if (!on) return report(no_runtime(on.error()));

  log_findings(log, *loaded);
  store_scrubber scrubber(scrubbed_of(*in, *stores), log);
  if (options.scrub_mib_per_second > 0)
    if (const auto scrubs = scrubber.start({.bytes_per_second = options.scrub_mib_per_second << 20U}); !scrubs)
      return report(scrubs.error());
  const auto spans = open_exporter(options, log);
  if (!spans) return report(spans.error());
  const auto traffic = open_traffic(options, *in, log);
  if (!traffic) return report(traffic.error());
  if (const auto takes = (*events)->start(options, *in, log); !takes)
    return remove_record(options), report(takes.error());
  const std::unique_ptr<draft_plans> drafts = drafts_of(options, *in, library);
  plan_changes changes(library, in->where.plans, log);
  read_anew(changes, *in, *traffic == nullptr ? recording::off : recording::on);
  if (drafts != nullptr) changes.after_registries([&drafts] { drafts->forget(); });
  control by{.options = options,
             .root = in->where.root,
             .context = {.declared = &in->declared,
                         .stores = stores->pointers(),
                         .shadows = in->where.shadows,
                         .open_shadow_stores = [&] { return open_shadow_stores(*in, *stores); },
                         .plans = &plans,
                         .changes = &changes,
                         .log = log,
                         .audit = files->audit.get(),
                         .captures = files->captures.get(),
                         .arrow_captures = files->arrow_captures.get(),
                         .exposures = files->exposures.get(),
                         .redacted = std::move(*redacted),
                         .traffic = traffic->get(),
                         .traffic_places = traffic_places_of(options, *in),
                         .drafts = drafts.get(),
                         .scrubber = &scrubber,
                         .spans = spans->get()},
             .files = *files,
             .server_options = std::move(*how),
             .on = std::move(*on),
             .server = nullptr,
             .problems = {}};
  (*events)->give(by.context);
  const exit_status ended = run_to_end(by);
  changes.reload_with({});
  changes.shadows_by({}, {});
  return ended;
}

}  // namespace rankd
