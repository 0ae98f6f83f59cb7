// rankd/cli/commands/serve_command.cpp: rankd serve: serves plans over HTTP until a signal arrives.
#include <rankd/cli/commands/commands.hpp>
#include <rankd/cli/serve/project_compiler.hpp>
#include <rankd/cli/serve/served_stores.hpp>
#include <rankd/cli/output/progress.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/serve/service_manager.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/engine/engine.hpp>
#include <rankd/engine/requests/page_cursors.hpp>
#include <rankd/engine/plans/plan_library.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/registry_change.hpp>
#include <rankd/server/files/arrow_file.hpp>
#include <rankd/server/events/counter_writer.hpp>
#include <rankd/server/events/embedded_counters.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/server/events/event_rules.hpp>
#include <rankd/server/files/line_file.hpp>
#include <rankd/server/plan_changes.hpp>
#include <rankd/server/studio/plan_source.hpp>
#include <rankd/server/rank_server.hpp>
#include <rankd/server/traces/span_exporter.hpp>
#include <rankd/server/records/record_writer.hpp>
#include <rankd/server/store_follower.hpp>
#include <rankd/server/store_scrubber.hpp>
#include <rankd/server/vector_merger.hpp>
#include <rankd/server/traffic/traffic_images.hpp>
#include <rankd/server/traffic/traffic_writer.hpp>
#include <rankd/store/counted_store.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/process.hpp>
#include <braid/thread/cgroup.hpp>

#include <array>
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

/// The output files of a server: its log and its records of requests.
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

  /// Logs when a file cannot be reopened, and when a later attempt to reopen it succeeds. Lifetime: the log must exist
  /// as long as the files.
  void report_to(const serve_log& to) const {
    const auto listen = [&to](auto& file, std::string_view name) {
      if (file == nullptr) return;
      file->reopened().listen([to, name](std::error_code error) {
        if (error)
          to.note(log_level::error, "file_not_reopened", {{"file", name}, {"message", error.message()}});
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

  /// Makes all files reopen before their next lines.
  void reopen() const {
    for (line_file* each : {log.get(), audit.get(), captures.get(), exposures.get()})
      if (each != nullptr) each->reopen();
    if (arrow_captures != nullptr) arrow_captures->reopen();
  }
};

/// Reads the tokens from a file, or returns nothing if no file is given.
auto read_tokens(const std::filesystem::path& file) -> braid::checked<std::optional<token_list>> {
  if (file.empty()) return std::nullopt;
  auto read = token_list::read(file);
  if (!read) return std::unexpected(std::move(read.error()));
  return std::move(*read);
}

/// Reads tokens and certificates from their files again. When the returned function is called, the server begins to use
/// the new tokens and certificates.
auto renew(rank_server& server, const std::filesystem::path& token_file) -> braid::checked<std::function<void()>> {
  auto tokens = read_tokens(token_file);
  if (!tokens) return std::unexpected(std::move(tokens.error()));
  return server.renew(std::move(*tokens));
}

/// Opens the file of recorded traffic, or returns null if traffic is not recorded. Lifetime: the workspace and the
/// log's file must outlive the returned object.
auto open_traffic(const serve_command_options& options, const workspace& workspace, const serve_log& log)
    -> braid::checked<std::unique_ptr<traffic_writer>> {
  if (options.record.empty()) return nullptr;
  const auto project = make_image(workspace.where, workspace.declared, RANKD_VERSION);
  if (!project) return std::unexpected(project.error());
  const auto report_plan = [log](const bound_plan& plan, const braid::diagnostics& problems) {
    log.note(log_level::warning, "not_recorded", {{"plan", plan.name}, {"message", problems.to_text()}});
  };
  return traffic_writer::open(
      options.record, *project,
      {.share = options.record_share,
       .max_bytes = options.record_max_mib << 20U,
       .make_image =
           [&workspace](const bound_plan& plan) { return make_image(plan, workspace.where, workspace.declared); },
       .on_no_image = report_plan});
}

/// The receivers of events: the log of events and the counters. Without a folder for events, there is no such log.
struct event_takers {
  event_rules rules;
  std::unique_ptr<counter_writer> counters;
  std::unique_ptr<embedded_counters> embedded;
  std::unique_ptr<event_log> log;  // writes to the counters

  /// Loads the rules, and puts a layer over each embedded store to which rules write. Must be called before other parts
  /// use these stores.
  static auto open(const serve_command_options& options, const workspace& workspace, const serve_log& log,
                   open_stores& over) -> braid::checked<std::unique_ptr<event_takers>> {
    auto made = std::make_unique<event_takers>();
    auto rules = event_rules::load(workspace.where.registry, workspace.declared);
    if (!rules) return std::unexpected(std::move(rules.error()));
    made->rules = std::move(*rules);
    if (options.events.empty()) return made;
    made->embedded = embedded_counters::make(made->rules, workspace.declared,
                                             {.folder = options.events,
                                              .max_bytes = options.counters_mib << 20U,
                                              .window = options.event_window,
                                              .log = log});
    for (std::size_t at = 0; made->embedded != nullptr && at < over.owned.size(); ++at)
      if (auto hashes = made->embedded->find_values(at); hashes != nullptr && over.owned[at] != nullptr)
        over.owned[at] = std::make_unique<counted_store>(std::move(over.owned[at]), std::move(hashes));
    return made;
  }

  auto start(const serve_command_options& options, const workspace& workspace, const serve_log& to)
      -> braid::checked<void> {
    if (options.events.empty()) return {};
    event_log_options how{
        .folder = options.events, .max_bytes = options.segment_mib << 20U, .window = options.event_window, .log = to};
    if (!rules.all().empty()) {
      auto started = counter_writer::start(rules, workspace.declared, to);
      if (!started) return std::unexpected(std::move(started.error()));
      counters = std::move(*started);
      how.on_written = [this](std::vector<rule_step> steps, event_position after) {
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

  void give(serve_context& context) const {
    context.events = log.get();
    context.rules = &rules;
    context.counters = counters.get();
    context.embedded = embedded.get();
  }
};

/// Removes the file of recorded traffic after a failed start. The file contains no request, and the next start would
/// fail if the file existed.
void remove_record(const serve_command_options& options) {
  std::error_code ignored;
  if (!options.record.empty()) std::filesystem::remove(options.record, ignored);
}

/// Reports settings for plans that the project does not have.
auto strangers_in(const workspace& workspace, const reload_report& loaded) -> braid::diagnostics {
  std::vector<std::string> plans = loaded.added;
  for (const left_out_plan& each : loaded.left_out) plans.push_back(each.name);
  braid::diagnostics all = workspace.where.budgets.strangers(plans);
  all.append(workspace.experiments.strangers(plans));
  all.append(find_strangers(workspace.where.shadows, plans));
  return all;
}

/// Reports whether requests are recorded. A file of recorded traffic contains the registries with which the recording
/// began.
enum class recording : std::uint8_t { off, on };

/// Reads the registries of the project again, for a reload.
auto read_registries(const project& project, recording recorded, const std::shared_ptr<const registries>& now)
    -> braid::checked<registry_change> {
  auto read = registries::load(project.registry, project.environment);
  if (!read) return std::unexpected(std::move(read.error()));
  // Checks the redacted names again: if a param was renamed, a list with its old name would no longer hide its value.
  if (auto hides = redaction::make(project.redacted, *read); !hides) return std::unexpected(std::move(hides.error()));
  auto change = change_registries(now, std::move(*read));
  if (change && change->next != now && recorded == recording::on)
    return refused(
        "needs_restart",
        "the registries have changed, but the recording contains the registries with which the server started",
        "restart the server with a new file to record into");
  return change;
}

/// Reads the settings of candidate plans for shadow traffic from rankd.toml again, for a reload.
auto read_shadows(const std::filesystem::path& root) -> braid::checked<std::vector<shadow_settings>> {
  auto now = project::load(root);
  if (!now) return std::unexpected(std::move(now.error()));
  return std::move(now->shadows);
}

/// Sets the functions with which reloads read the project. Lifetime: `workspace` must outlive `changes`.
void read_anew(plan_changes& changes, const workspace& workspace, recording recorded) {
  changes.budgets_by([root = workspace.where.root]() -> braid::checked<plan_budgets> {
    auto now = project::load(root);
    if (!now) return std::unexpected(std::move(now.error()));
    if (auto changed = changed_operators(now->operators); !changed.empty()) return std::unexpected(std::move(changed));
    return std::move(now->budgets);
  });
  changes.experiments_by(
      [&workspace](const registries& declared) { return experiment_set::load(workspace.where.registry, declared); });
  changes.registries_by([&workspace, recorded](const std::shared_ptr<const registries>& now) {
    return read_registries(workspace.where, recorded, now);
  });
}

/// Returns the options of the server, with the tokens and the certificate read from their files.
auto make_server_options(const serve_command_options& options) -> braid::checked<serve_options> {
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

/// Applies the settings of rankd.toml. Options of the command line override them.
void take_settings(const project& project, const serve_command_options& options, engine_options& into) {
  into.cursors = make_page_cursors(project.cursors);
  into.cache = {.bytes = options.cache_mib.value_or(project.cache.mib) << 20U, .entries = project.cache.entries};
  into.records = {.bytes = options.record_cache_mib.value_or(project.records.mib) << 20U,
                  .entries = project.records.entries,
                  .age = project.records.age,
                  .absent_age = project.records.absent_age,
                  .tracked_age = project.records.tracked_age,
                  .tracking = project.records.tracking};
}

/// Starts the exporter of spans, or returns null if spans are not exported.
auto open_exporter(const serve_command_options& options, const serve_log& log)
    -> braid::checked<std::unique_ptr<span_exporter>> {
  if (options.collector.empty()) return nullptr;
  return span_exporter::start({.url = options.collector, .share = options.span_share}, log);
}

/// Returns the files and folders with recorded traffic that the plan page may use. Returns no files or folders unless
/// this is a studio, because not every client may see the requests of others.
auto find_traffic_places(const serve_command_options& options, const workspace& workspace)
    -> std::vector<std::filesystem::path> {
  if (options.page_token.empty()) return {};
  return options.traffic.empty() ? std::vector<std::filesystem::path>{workspace.where.root} : options.traffic;
}

/// Returns the drafts for the plan page, or null unless this is a studio.
auto make_drafts(const serve_command_options& options, const workspace& workspace, plan_library& library)
    -> std::unique_ptr<draft_plans> {
  return options.page_token.empty() ? nullptr : open_drafts(workspace.where.root, library, options.compiler);
}

auto make_library_options(const serve_command_options& options, const workspace& workspace) -> plan_library_options {
  return {.budgets = workspace.where.budgets,
          .experiments = workspace.experiments,
          .models = workspace.where.models,
          .on_bad_plan = options.on_bad_plan,
          .root = workspace.where.root};
}

/// A server with all parts that it uses, opened step by step. The thread that runs the command opens the parts, starts
/// the server, and waits for signals and for the end of the server.
class service {
 public:
  explicit service(const serve_command_options& options) noexcept : options_(&options) {}

  /// Opens all parts. Errors: the errors of the first part that cannot be opened.
  auto open() -> braid::checked<void> {
    constexpr std::array steps{&service::open_project, &service::load_plans,   &service::open_project_stores,
                               &service::open_outputs, &service::start_events, &service::connect_reloads,
                               &service::start_merges};
    for (const auto step : steps)
      if (auto done = (this->*step)(); !done) return done;
    return {};
  }

  /// Serves until a signal arrives.
  auto run_to_end() -> exit_status {
    loop_->run([this] { start(); });
    server_.reset();
    const exit_status ended = report_end();
    changes_->reload_with({});
    changes_->shadows_by({}, {});
    return ended;
  }

 private:
  auto open_project() -> braid::checked<void> {
    auto found = workspace::open(options_->project);
    if (!found) return std::unexpected(std::move(found.error()));
    workspace_.emplace(std::move(*found));
    auto read = make_server_options(*options_);
    if (!read) return std::unexpected(std::move(read.error()));
    server_options_ = std::move(*read);
    take_settings(workspace_->where, *options_, server_options_.engine);
    auto redacted = redaction::make(workspace_->where.redacted, workspace_->declared);
    if (!redacted) return std::unexpected(std::move(redacted.error()));
    context_.redacted = std::move(*redacted);
    return {};
  }

  auto load_plans() -> braid::checked<void> {
    library_.emplace(workspace_->declared, make_library_options(*options_, *workspace_));
    auto loaded = library_->reload(workspace_->where.plans);
    if (!loaded) return std::unexpected(std::move(loaded.error()));
    loaded_ = std::move(*loaded);
    if (auto strangers = strangers_in(*workspace_, loaded_); !strangers.empty())
      return std::unexpected(std::move(strangers));
    plans_.emplace(*library_);
    return {};
  }

  auto open_project_stores() -> braid::checked<void> {
    auto opened = open_all_stores(*workspace_, {server_messages::hidden, load_bars()});  // its clients are others
    if (!opened) return std::unexpected(std::move(opened.error()));
    stores_.emplace(std::move(*opened));
    return {};
  }

  /// Opens the logs, and starts the threads that check stores and export spans.
  auto open_outputs() -> braid::checked<void> {
    auto files = outputs::open(*options_);
    if (!files) return std::unexpected(std::move(files.error()));
    files_ = std::move(*files);
    context_.log = serve_log(*files_.log, options_->level);
    files_.report_to(context_.log);
    auto events = event_takers::open(*options_, *workspace_, context_.log, *stores_);
    if (!events) return std::unexpected(std::move(events.error()));
    events_ = std::move(*events);
    auto loop = braid::loop::create();
    if (!loop) return std::unexpected(no_runtime(loop.error()));
    loop_ = std::move(*loop);
    log_findings(context_.log, loaded_);
    follower_.emplace(list_followed(*workspace_, *stores_), context_.log);
    static_cast<void>(follower_->look());  // from now on a load waits for this server
    if (auto follows = follower_->start(); !follows) return std::unexpected(std::move(follows.error()));
    if (options_->accepts_records) open_writers();
    scrubber_.emplace(list_scrubbed(*workspace_, *stores_), context_.log);
    if (options_->scrub_mib_per_second > 0)
      if (auto scrubs = scrubber_->start({.bytes_per_second = options_->scrub_mib_per_second << 20U}); !scrubs)
        return std::unexpected(std::move(scrubs.error()));
    auto spans = open_exporter(*options_, context_.log);
    if (!spans) return std::unexpected(std::move(spans.error()));
    spans_ = std::move(*spans);
    return {};
  }

  void open_writers() {
    for (const store_follower::target& each : list_followed(*workspace_, *stores_)) {
      writers_.push_back(std::make_unique<record_writer>(*each.follows, list_lengths(workspace_->declared),
                                                         [this] { static_cast<void>(follower_->look()); }));
      context_.records.emplace_back(each.endpoint_id, writers_.back().get());
    }
  }

  auto start_events() -> braid::checked<void> {
    auto traffic = open_traffic(*options_, *workspace_, context_.log);
    if (!traffic) return std::unexpected(std::move(traffic.error()));
    traffic_ = std::move(*traffic);
    auto started = events_->start(*options_, *workspace_, context_.log);
    if (!started) remove_record(*options_);
    return started;
  }

  auto connect_reloads() -> braid::checked<void> {
    drafts_ = make_drafts(*options_, *workspace_, *library_);
    changes_.emplace(*library_, workspace_->where.plans, context_.log);
    read_anew(*changes_, *workspace_, traffic_ == nullptr ? recording::off : recording::on);
    if (drafts_ != nullptr) changes_->after_registries([this] { drafts_->forget(); });
    return {};
  }

  auto start_merges() -> braid::checked<void> {
    merger_.emplace(list_merged(*workspace_, list_followed(*workspace_, *stores_)), *library_, context_.log);
    auto started = merger_->start();
    if (!started) remove_record(*options_);
    return started;
  }

  /// Passes pointers to all open parts to the server's context.
  void give_parts() {
    context_.declared = &workspace_->declared;
    context_.stores = stores_->pointers();
    context_.shadows = workspace_->where.shadows;
    context_.open_shadow_stores = [this] { return open_shadow_stores(*workspace_, *stores_); };
    context_.plans = &*plans_;
    context_.changes = &*changes_;
    context_.audit = files_.audit.get();
    context_.captures = files_.captures.get();
    context_.arrow_captures = files_.arrow_captures.get();
    context_.exposures = files_.exposures.get();
    context_.traffic = traffic_.get();
    context_.traffic_places = find_traffic_places(*options_, *workspace_);
    context_.drafts = drafts_.get();
    context_.scrubber = &*scrubber_;
    context_.follower = &*follower_;
    context_.merger = &*merger_;
    context_.spans = spans_.get();
    events_->give(context_);
    context_.on_end = [this] { loop_->stop(); };
  }

  void start() {
    give_parts();
    loop_->spawn(obey());
    auto started = rank_server::start(context_, server_options_);
    if (!started) {
      problems_ = std::move(started.error());
      loop_->stop();
      return;
    }
    server_ = std::move(*started);
    if (!options_->token_file.empty() || server_options_.tls)
      changes_->reload_with([by = server_.get(), file = options_->token_file] { return renew(*by, file); });
    changes_->shadows_by(
        [root = workspace_->where.root] { return read_shadows(root); },
        [by = server_.get()](std::vector<shadow_settings> next) { return by->renew_shadows(std::move(next)); });
    announce();
  }

  void announce() const {
    const std::string address = server_->address().to_string();
    std::string lines = (server_options_.tls ? "listening on https://" : "listening on http://") + address + "\n";
    if (!options_->page_token.empty()) lines += "open http://" + address + "/ui#token=" + options_->page_token + "\n";
    print(lines);
    std::fflush(stdout);
    context_.log.note(log_level::info, "listening", {{"address", address}});
    notify_service_manager("READY=1\nSTATUS=listening on " + address);
  }

  void reload() {
    files_.reopen();
    static_cast<void>(changes_->reload());  // which reports its errors
  }

  auto obey() -> braid::task<void> {
    auto signals = braid::signal_set::create(*loop_, {SIGTERM, SIGINT, SIGHUP});
    if (!signals) {
      context_.log.note(log_level::error, "no_signals", {{"message", signals.error().message()}});
      co_return;
    }
    for (bool stopping = false;;) {
      const braid::result<int> got = co_await signals->next();
      if (!got) co_return;
      if (*got == SIGHUP) {
        reload();
        continue;
      }
      context_.log.note(log_level::info, stopping ? "stopping_at_once" : "stopping");
      if (server_ == nullptr) co_return loop_->stop();
      if (stopping) {
        server_->begin_stop(braid::duration::zero());
        continue;
      }
      stopping = true;
      notify_service_manager("STOPPING=1");
      if (drafts_ != nullptr) drafts_->close();
      merger_->cancel();
      server_->announce_stop();
      loop_->spawn(stop_later());
    }
  }

  auto stop_later() -> braid::task<void> {
    if (options_->announcement.count() > 0) co_await braid::sleep_for(options_->announcement);
    server_->begin_stop(options_->grace);
  }

  auto report_end() -> exit_status {
    if (!problems_.empty()) {
      remove_record(*options_);
      return report(problems_);
    }
    context_.log.note(log_level::info, "stopped");
    return exit_status::fine;
  }

  const serve_command_options* options_;
  std::optional<workspace> workspace_;
  std::optional<plan_library> library_;
  reload_report loaded_;  // by the start
  std::optional<library_plans> plans_;
  std::optional<open_stores> stores_;
  outputs files_;
  serve_context context_;  // its log writes to the files
  serve_options server_options_;
  std::unique_ptr<event_takers> events_;
  std::optional<store_follower> follower_;
  std::vector<std::unique_ptr<record_writer>> writers_;
  std::optional<store_scrubber> scrubber_;
  std::unique_ptr<span_exporter> spans_;
  std::unique_ptr<traffic_writer> traffic_;
  std::unique_ptr<draft_plans> drafts_;
  std::optional<plan_changes> changes_;
  std::optional<vector_merger> merger_;
  std::unique_ptr<braid::loop> loop_;  // of this thread
  std::unique_ptr<rank_server> server_;
  braid::diagnostics problems_;  // why it did not start
};

}  // namespace

auto serve_command(const serve_command_options& options) -> exit_status {
  std::signal(SIGPIPE, SIG_IGN);  // the reader of the log may go away; the server stays
  service all(options);
  if (const auto opened = all.open(); !opened) return report(opened.error());
  return all.run_to_end();
}

}  // namespace rankd
