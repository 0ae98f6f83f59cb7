// rankd/cli/command_line.cpp: parses the command line of rankd, and runs the chosen command.
#include <rankd/cli/detail/command_line.hpp>

#include <rankd/cli/commands/check_command.hpp>
#include <rankd/cli/commands/commands.hpp>
#include <rankd/cli/detail/common_options.hpp>
#include <rankd/cli/commands/events_command.hpp>
#include <rankd/cli/experiments/experiment_options.hpp>
#include <rankd/cli/checks/option_checks.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/commands/replay_command.hpp>
#include <rankd/cli/detail/serve_arguments.hpp>
#include <rankd/cli/commands/test_command.hpp>
#include <rankd/cli/commands/vectors_command.hpp>
#include <rankd/store/redis_options.hpp>

#include <braid/base/error.hpp>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

namespace {

using rankd::check_filled_store;
using rankd::check_folder;
using rankd::check_not_empty;
using rankd::check_server_url;
using rankd::check_store;
using rankd::exit_status;
using rankd::number_between;
using rankd::output_form;
using rankd::whole_number;
using rankd::detail::add_form;
using rankd::detail::add_node_timeout;
using rankd::detail::add_project;
using rankd::detail::max_ms;

/// The chosen subcommand. The subcommand runs after the whole command line has been parsed.
using action = std::function<exit_status()>;

template <typename Options>
void add_workers(CLI::App& command, Options& options) {
  command.add_option("--workers", options.workers, "Number of compute threads; default: one for each available CPU")
      ->check(whole_number(1, 4096));
}

void add_store(CLI::App& command, std::string& store) {
  command.add_option("--store", store, "Folder of the store, as PATH or lmdb:PATH; default: the project's")
      ->check(check_store)
      ->type_name("URL");
}

/// Checks the ids that --why lists. If the ids of the project are texts, any text is valid. Otherwise, each id must be
/// an integer.
void check_why(const rankd::rank_options& options) {
  const auto check = whole_number(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  for (std::string id : options.why)
    if (const std::string problem = check(id); !problem.empty() && !rankd::has_text_ids(options))
      throw CLI::ValidationError("--why", problem);
}

void add_rank(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("rank", "Answer one ranking request: JSON in, JSON out");
  auto options = std::make_shared<rankd::rank_options>();
  add_project(*command, *options);
  command->add_option("--plan", options->plan, "Plan to run; default: the plan that the request names")
      ->check(check_not_empty)
      ->type_name("NAME");
  command->add_option("--request", options->request, "The request, or a file that contains it; default: standard input")
      ->check(check_not_empty)
      ->type_name("JSON|FILE");
  command->add_flag_callback(
      "--table", [options] { options->form = output_form::people; }, "Print a table and the time of each node");
  command->add_flag_callback(
      "--explain", [options] { options->explain = rankd::explain_mode::on; },
      "Show how the time was spent, as tables, or as JSON with --json");
  command
      ->add_option("--why", options->why,
                   "Show which node dropped an id, or the position of the id; separate several ids by commas")
      ->delimiter(',')
      ->type_name("ID");
  command
      ->add_option("--capture", options->captures,
                   "Show the rows that a node returns, with all keys or the listed keys; at most 8 nodes")
      ->check(check_not_empty)
      ->type_name("NODE[:KEY,…]");
  auto* json =
      command->add_flag_callback(
                 "--json", [] {}, "Print JSON; this is the default without --table and --explain")
          ->excludes("--table");
  add_node_timeout(*command, *options);
  add_workers(*command, *options);
  command->callback([options, json, &chosen] {
    if (options->why.size() > rankd::max_explained_ids)
      throw CLI::ValidationError("--why", "must list at most " + std::to_string(rankd::max_explained_ids) + " ids");
    check_why(*options);
    if (options->captures.size() > rankd::max_captured_nodes)
      throw CLI::ValidationError("--capture",
                                 "must name at most " + std::to_string(rankd::max_captured_nodes) + " nodes");
    if (!options->why.empty()) options->explain = rankd::explain_mode::on;
    if (options->explain == rankd::explain_mode::on && json->count() == 0) options->form = output_form::people;
    chosen = [options] { return rank_command(*options); };
  });
}

/// Parses `I/N` with 1 <= I <= N.
auto parse_shard(const std::string& text) -> std::optional<rankd::batch_shard> {
  rankd::batch_shard shard;
  const char* const end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, shard.index);
  if (index.ec != std::errc() || index.ptr == end || *index.ptr != '/') return std::nullopt;
  const auto count = std::from_chars(index.ptr + 1, end, shard.count);
  if (count.ec != std::errc() || count.ptr != end || shard.index < 1 || shard.index > shard.count) return std::nullopt;
  return shard;
}

void add_batch(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("batch", "Answer many ranking requests: NDJSON in, NDJSON out, in the same order");
  auto options = std::make_shared<rankd::batch_command_options>();
  add_project(*command, *options);
  command->add_option("--plan", options->plan, "Plan to run; default: the plan that each request names")
      ->check(check_not_empty)
      ->type_name("NAME");
  auto* in = command->add_option("--in", options->in, "Requests, one on each line; default: standard input")
                 ->check(check_not_empty)
                 ->type_name("FILE");
  auto* out = command->add_option("--out", options->out, "Answers, one on each line; default: standard output")
                  ->check(check_not_empty)
                  ->type_name("FILE");
  command
      ->add_option_function<std::string>(
          "--shard",
          [options](const std::string& text) { options->shard = parse_shard(text).value_or(options->shard); },
          "Answer only the I-th of N parts; the answers of all parts, concatenated, equal those of one batch")
      ->check([](const std::string& text) {
        return parse_shard(text) ? "" : "must be I/N with 1 <= I <= N, got `" + text + "`";
      })
      ->needs(in)
      ->type_name("I/N");
  auto* resume = command
                     ->add_flag_callback(
                         "--resume", [options] { options->earlier = rankd::unfinished::resume; },
                         "Continue an interrupted batch into the same file")
                     ->needs(in)
                     ->needs(out);
  command
      ->add_flag_callback(
          "--restart", [options] { options->earlier = rankd::unfinished::restart; },
          "Discard an interrupted batch into the same file")
      ->excludes(resume)
      ->needs(out);
  command->add_flag_callback(
      "--allow-degraded", [options] { options->fallbacks = rankd::time_fallbacks::allowed; },
      "Also run plans that have fallbacks for late nodes; the answers of such plans depend on time");
  add_node_timeout(*command, *options);
  add_workers(*command, *options);
  command
      ->add_option("--in-flight", options->in_flight,
                   "Number of requests that each thread answers at the same time; default: 32")
      ->check(whole_number(1, 32));
  command->add_option("--cache-mib", options->cache_mib, "Memory for node caches, in each thread")
      ->check(whole_number(0, 1 << 20))
      ->capture_default_str();
  command->callback([options, &chosen] { chosen = [options] { return batch_command(*options); }; });
}

void add_bench(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("bench", "Measure the throughput and the latency of requests");
  auto options = std::make_shared<rankd::bench_options>();
  add_project(*command, *options);
  command->add_option("--plan", options->plan, "Plan to run")->required()->check(check_not_empty)->type_name("NAME");
  command
      ->add_option("--requests", options->requests,
                   "Requests, one on each line; default: one for each user of the store")
      ->check(check_not_empty)
      ->type_name("FILE");
  command
      ->add_option("--clients", options->clients,
                   "Number of concurrent clients; a list of numbers is measured one after another")
      ->delimiter(',')
      ->check(whole_number(1, 100'000))
      ->capture_default_str();
  command
      ->add_option_function<std::int64_t>(
          "--duration-ms", [options](std::int64_t ms) { options->duration = std::chrono::milliseconds(ms); },
          "Time for each number of clients; default: 1000")
      ->check(whole_number(1, max_ms));
  command
      ->add_option("--loops", options->loops,
                   "Number of event loops that share the clients; each loop has its own thread")
      ->check(whole_number(1, 4096))
      ->capture_default_str();
  command->add_option("--workers", options->workers, "Number of compute threads for each event loop")
      ->check(whole_number(1, 4096))
      ->capture_default_str();
  command->add_flag_callback(
      "--sequential", [options] { options->order = rankd::run_order::one_by_one; },
      "Run the nodes of a request one by one, on the event loop");
  auto* const http =
      command
          ->add_option(
              "--http", options->http,
              "Send the requests to the server at http://HOST:PORT, with the token in the variable RANKD_TOKEN")
          ->check(check_server_url)
          ->type_name("URL");
  auto* const plot = command->add_option("--plot", options->plot, "Write a plot of the results, as SVG")
                         ->check(check_not_empty)
                         ->type_name("FILE");
  auto* const rate =
      command
          ->add_option(
              "--rate", options->rates,
              "Send this many requests per second, without waiting for answers; a list of rates runs in succession")
          ->delimiter(',')
          ->check(number_between(0.001, 10'000'000))
          ->needs(http)
          ->excludes(plot);
  command
      ->add_option("--connections", options->connections,
                   "With --rate, the maximum number of requests that wait for an answer")
      ->check(whole_number(1, 100'000))
      ->capture_default_str()
      ->needs(rate);
  add_form(*command, options->form);
  command->callback([options, &chosen] { chosen = [options] { return bench_command(*options); }; });
}

void add_load(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("load", "Fill an embedded store or Redis from NDJSON");
  auto options = std::make_shared<rankd::load_command_options>();
  add_project(*command, *options);
  command->add_option("data", options->data, "Files, or folders of *.ndjson; default: the project's data")
      ->check(check_not_empty)
      ->type_name("DATA");
  command
      ->add_option("--store", options->store,
                   "PATH, lmdb:PATH, redis://HOST:PORT/DATABASE or redis-cluster://HOST:PORT,HOST:PORT; "
                   "default: the project's")
      ->check(check_filled_store)
      ->type_name("URL");
  command->add_flag("--replace", options->replace, "Delete the earlier contents of the store; not allowed for Redis");
  command->add_flag("--strict", options->strict,
                    "Treat warnings as errors: after a warning, the store stays unchanged");
  command
      ->add_option("--watch", options->watched,
                   "Load each *.ndjson file that appears in this folder, and move it to `done` or `failed` there")
      ->check(check_folder)
      ->excludes("data")
      ->excludes("--replace")
      ->type_name("DIR");
  command->callback([options, &chosen] {
    if (options->replace && rankd::is_redis_url(options->store))
      throw CLI::ValidationError("--replace",
                                 "works only for embedded stores; empty a Redis database with its command FLUSHDB");
    chosen = [options] { return load_command(*options); };
  });
}

void add_dump(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("dump", "Write an embedded store as NDJSON");
  auto options = std::make_shared<rankd::dump_command_options>();
  add_project(*command, *options);
  add_store(*command, options->store);
  command->add_option("--out", options->out, "File to write; default: standard output")
      ->check(check_not_empty)
      ->type_name("FILE");
  command->add_option("--prefix", options->prefix, "Write only keys with this prefix")->type_name("TEXT");
  command->callback([options, &chosen] { chosen = [options] { return dump_command(*options); }; });
}

void add_validate(CLI::App& app, action& chosen) {
  auto* command =
      app.add_subcommand("validate", "Print all errors of plans, and of the project files that `serve` reads");
  auto options = std::make_shared<rankd::validate_options>();
  add_project(*command, *options);
  add_form(*command, options->form);
  command->add_flag("--strict", options->strict, "Exit with status 1 on warnings, too");
  command
      ->add_option("plan", options->plans,
                   "Names or files; default: all plans. The other files of the project are checked in any case")
      ->check(check_not_empty)
      ->type_name("PLAN");
  command->callback([options, &chosen] { chosen = [options] { return validate_command(*options); }; });
}

void add_eval(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("eval", "Measure the answers of a plan against judgements, or compare two plans");
  auto options = std::make_shared<rankd::eval_options>();
  add_project(*command, *options);
  add_form(*command, options->form);
  command->add_option("plan", options->plans, "Name or file of a plan; a second plan is compared with the first")
      ->required()
      ->expected(1, 2)
      ->check(check_not_empty)
      ->type_name("PLAN");
  command
      ->add_option("--judgements", options->judgements,
                   "File with {\"request\": {…}, \"relevance\": {ID: NUMBER}} on each line")
      ->required()
      ->check(check_not_empty)
      ->type_name("FILE");
  command
      ->add_option("--depth", options->quality.depth,
                   "Number of candidates from the top that are measured: the k in NDCG@k")
      ->check(whole_number(1, 10'000))
      ->capture_default_str();
  command
      ->add_option_function<std::string>(
          "--gain",
          [options](const std::string& name) {
            options->quality.gain = name == "linear" ? rankd::gain_form::linear : rankd::gain_form::exponential;
          },
          "Gain in NDCG: linear (the relevance) or exponential (2^relevance - 1); default: linear")
      ->check(CLI::IsMember({"linear", "exponential"}))
      ->type_name("FORM");
  command->add_option("--diversity", options->diversity, "Key whose values should differ among the first candidates")
      ->check(check_not_empty)
      ->type_name("KEY");
  command->add_option("--resamples", options->bootstrap.resamples, "Number of resamples for each confidence interval")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  command
      ->add_option("--seed", options->bootstrap.seed,
                   "Seed for resampling: the same seed results in the same intervals")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  add_workers(*command, *options);
  command->callback([options, &chosen] { chosen = [options] { return eval_command(*options); }; });
}

void add_list(CLI::App& app, action& chosen, const std::string& name, const std::string& doc,
              exit_status (*run)(const rankd::list_options&)) {
  auto* command = app.add_subcommand(name, doc);
  auto options = std::make_shared<rankd::list_options>();
  add_project(*command, *options);
  add_form(*command, options->form);
  command->callback([options, &chosen, run] { chosen = [options, run] { return run(*options); }; });
}

void add_plans(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("plans", "List the plans of the project, or show the graph of one plan");
  auto options = std::make_shared<rankd::plans_options>();
  add_project(*command, *options);
  auto* plan = command->add_option("plan", options->plan, "Name or file of the plan to show; default: list all")
                   ->check(check_not_empty)
                   ->type_name("PLAN");
  auto* json = command->add_flag_callback(
      "--json",
      [options] {
        options->form = output_form::programs;
        options->graph = rankd::graph_form::json;
      },
      "Print JSON");
  auto* dot = command->add_flag_callback(
      "--dot", [options] { options->graph = rankd::graph_form::dot; }, "Print the graph for Graphviz");
  auto* mermaid = command->add_flag_callback(
      "--mermaid", [options] { options->graph = rankd::graph_form::mermaid; }, "Print the graph for Mermaid");
  dot->needs(plan)->excludes(json)->excludes(mermaid);
  mermaid->needs(plan)->excludes(json);
  command->callback([options, &chosen] { chosen = [options] { return plans_command(*options); }; });
}

void add_registry(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("registry", "Show the registries of the project");
  auto options = std::make_shared<rankd::registry_options>();
  add_project(*command, *options);
  add_form(*command, options->form);
  command->add_option("registry", options->registry, "The registry to show; default: all")
      ->check(CLI::IsMember({"keys", "params", "capabilities", "endpoints", "experiments"}));
  command->add_flag_callback(
      "--digests", [options] { options->show = rankd::registry_view::digests; },
      "Show only the SHA-256 digest of each registry");
  command->callback([options, &chosen] { chosen = [options] { return registry_command(*options); }; });
}

void add_ops(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("ops", "List the operators that plans can use");
  auto options = std::make_shared<rankd::ops_options>();
  add_project(*command, *options);
  add_form(*command, options->form);
  command
      ->add_flag("--toml", options->toml,
                 "Print TOML, with the ranges and choices of params, and with the ops of expressions")
      ->excludes(command->get_option("--json"));
  command->add_flag("--own", options->own, "List only the operators of the project's own libraries");
  command->callback([options, &chosen] { chosen = [options] { return ops_command(*options); }; });
}

void add_folder(CLI::App& command, rankd::init_options& options) {
  command.add_option("folder", options.folder, "Folder to create; an existing folder must be empty")
      ->required()
      ->check(check_not_empty)
      ->type_name("DIR");
}

void add_init(CLI::App& app, action& chosen) {
  auto* init = app.add_subcommand("init", "Create a project: `init demo|shop|empty DIR`")->require_subcommand(1);
  auto* demo = init->add_subcommand("demo", "A project with plans, registries, made-up data and a README");
  auto options = std::make_shared<rankd::init_options>();
  add_folder(*demo, *options);
  demo->add_option("--seed", options->size.seed, "Seed of the data")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  demo->add_option("--users", options->size.users, "Number of users")
      ->check(whole_number(1, 10'000'000))
      ->capture_default_str();
  demo->add_option("--media", options->size.media, "Number of media")
      ->check(whole_number(0, 100'000'000))
      ->capture_default_str();
  demo->callback([options, &chosen] { chosen = [options] { return init_command(*options); }; });

  auto* empty = init->add_subcommand("empty", "A project to start from, with registries, one plan and editor settings");
  add_folder(*empty, *options);
  empty->callback([options, &chosen] {
    options->kind = rankd::project_kind::empty;
    chosen = [options] { return init_command(*options); };
  });

  auto* shop = init->add_subcommand(
      "shop", "A made-up shop whose ids are strings, with ten plans and their tests, data, and a model");
  add_folder(*shop, *options);
  shop->callback([options, &chosen] {
    options->kind = rankd::project_kind::shop;
    chosen = [options] { return init_command(*options); };
  });
}

/// Flushes standard output, and returns whether everything was written. A full disk or a closed pipe may be noticed
/// only now.
auto output_is_out() -> bool {
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return true;
  std::cerr << "rankd: standard output cannot be written\n";
  return false;
}

auto command_names(const CLI::App& app) -> std::vector<std::string_view> {
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.emplace_back(command->get_name());
  return names;
}

/// Returns a suggestion for an unknown command or option: a command with a similar name, the command that has this
/// option, or the list of all commands.
auto hint_for(const CLI::App& app, const std::string& word) -> std::string {
  if (word.starts_with('-')) return {};
  const std::vector<std::string_view> names = command_names(app);
  if (std::string near = braid::did_you_mean(word, names); !near.empty()) return "; " + near;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_option_no_throw("--" + word) != nullptr)
      return "; `" + app.get_name() + " " + command->get_name() + "` has an option --" + word;
  std::string all;
  for (const std::string_view name : names) all.append(all.empty() ? "" : ", ").append(name);
  return "; the commands of `" + app.get_name() + "` are " + all;
}

/// Returns the innermost command that the command line names, such as `rank` or `vectors build`.
auto chosen_command(const CLI::App* app) -> const CLI::App& {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

/// Returns a sentence about an option that the command does not have.
auto describe_unknown_option(const CLI::App& command, const std::string& word) -> std::string {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> options;
  for (const CLI::Option* each : command.get_options())
    if (const std::string& option = each->get_name(); option.starts_with('-')) options.push_back(option);
  const std::string near = braid::did_you_mean(name, {options.begin(), options.end()});
  return "there is no option `" + name + "`" + (near.empty() ? "" : "; " + near);
}

/// Returns a sentence about the first word of the command line that is not expected.
auto describe_unknown(const CLI::App& command, const std::string& word) -> std::string {
  if (!command_names(command).empty()) return "there is no command or option `" + word + "`" + hint_for(command, word);
  return word.starts_with('-') ? describe_unknown_option(command, word)
                               : "the argument `" + word + "` is not expected here";
}

/// Returns a sentence about an option that has no value or too many values. CLI11 writes `NAME: 1 required TYPE
/// missing`, or `NAME: At Most 1 required but received 2`.
auto describe_mismatch(std::string message) -> std::string {
  constexpr std::string_view required = " required ";
  constexpr std::string_view missing = " missing";
  constexpr std::string_view at_most = ": At Most 1 required but received ";
  if (const std::size_t at = message.find(at_most); at != std::string::npos)
    return message.substr(0, at) + ": may have one value, got " + message.substr(at + at_most.size());
  const std::size_t colon = message.find(": ");
  const std::size_t type = message.find(required);
  if (colon == std::string::npos || type == std::string::npos || !message.ends_with(missing)) return message;
  const std::size_t begin = type + required.size();
  return message.substr(0, colon) + ": the value is missing; expected " +
         message.substr(begin, message.size() - missing.size() - begin);
}

/// Returns a message for an error in the command line, with unprintable characters escaped. If no command has the name
/// that the user has given, the message contains this name.
auto format_parse_error(const CLI::App* app, const CLI::Error& error) -> std::string {
  const auto is = [&error](CLI::ExitCodes code) { return error.get_exit_code() == static_cast<int>(code); };
  const CLI::App& used = chosen_command(app);
  std::string what = error.what();
  if (const auto unknown = app->remaining(true);
      !unknown.empty() && (is(CLI::ExitCodes::RequiredError) || is(CLI::ExitCodes::ExtrasError)))
    what = describe_unknown(used, unknown.front());
  else if (is(CLI::ExitCodes::RequiredError) && !command_names(used).empty())
    what = "a command is missing" + hint_for(used, "");
  else if (is(CLI::ExitCodes::ArgumentMismatch))
    what = describe_mismatch(std::move(what));
  return "rankd: " + rankd::printable(what) + "\nRun with --help or --help-all for more information.\n";
}

}  // namespace

auto rankd::detail::run_command_line(int argc, char** argv) -> int {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write
  CLI::App app("rankd: ranks candidates by plans, which are graphs of operators over rows", "rankd");
  app.set_version_flag("--version", "rankd " RANKD_VERSION);
  app.set_help_all_flag("--help-all", "Help for all subcommands");
  app.failure_message(format_parse_error);
  app.footer(
      "Exit status: 0 success, 1 the request, plan or data is wrong, 2 wrong usage. If the reader of standard "
      "output\n"
      "closes the pipe, SIGPIPE ends rankd (141 in a shell). If that signal is ignored, rankd exits with 1.");
  app.require_subcommand(1);

  action chosen;
  add_rank(app, chosen);
  add_batch(app, chosen);
  add_bench(app, chosen);
  rankd::detail::add_serve(app, chosen);
  rankd::detail::add_studio(app, chosen);
  add_load(app, chosen);
  add_dump(app, chosen);
  add_validate(app, chosen);
  rankd::add_check(app, chosen);
  add_plans(app, chosen);
  rankd::add_diff(app, chosen);
  add_eval(app, chosen);
  rankd::add_test(app, chosen);
  rankd::add_replay(app, chosen);
  rankd::add_vectors(app, chosen);
  add_ops(app, chosen);
  add_registry(app, chosen);
  rankd::add_experiment(app, chosen);
  rankd::add_events(app, chosen);
  add_list(app, chosen, "doctor", "Check whether this project can be served on this machine, and say what to correct",
           &rankd::doctor_command);
  add_init(app, chosen);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    const bool asked = stop.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
    app.exit(stop);
    if (asked && !output_is_out()) return static_cast<int>(exit_status::failed);
    return static_cast<int>(asked ? exit_status::fine : exit_status::wrong_usage);
  }
  try {
    const exit_status status = chosen();
    return static_cast<int>(output_is_out() ? status : exit_status::failed);
  } catch (const std::exception& unexpected) {
    std::cerr << "rankd: " << rankd::printable(unexpected.what()) << "\n";
    return static_cast<int>(exit_status::failed);
  }
}
