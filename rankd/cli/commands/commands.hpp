// rankd/cli/commands/commands.hpp: the options of each subcommand, and the functions that run them.
#pragma once

#include <rankd/cli/output/batch_output.hpp>
#include <rankd/cli/projects/demo.hpp>
#include <rankd/embed/ranker.hpp>
#include <rankd/engine/options.hpp>
#include <rankd/engine/plans/plan_library.hpp>
#include <rankd/engine/explain/quality.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/server/files/serve_log.hpp>
#include <rankd/server/serve_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace rankd {

/// The exit status of a command.
enum class exit_status : std::uint8_t {
  fine = 0,
  failed = 1,       ///< the request, the plan or the data is wrong
  wrong_usage = 2,  ///< the command line is wrong
};

/// The form of the output: text for people, or JSON for programs.
enum class output_form : std::uint8_t { people, programs };

struct project_options {
  std::filesystem::path project;  ///< a folder with rankd.toml; empty: searched for from the current folder upwards
};

struct rank_options : project_options {
  std::string plan;     ///< empty: the request names it
  std::string request;  ///< a file, or the request itself, which begins with `{`; empty: standard input
  output_form form = output_form::programs;
  explain_mode explain = explain_mode::off;  ///< on: as if the request asked for an explanation
  std::vector<std::string> why;              ///< ids to explain, in addition to those of the request
  std::vector<std::string> captures;         ///< nodes whose rows are shown, in addition to those of the request
  std::optional<std::chrono::milliseconds> node_timeout;
  unsigned workers = 0;  ///< 0: as many as the machine grants
};

/// The part of the requests that a batch answers. The requests are divided into `count` consecutive parts, and this is
/// part number `index`, counted from 1.
struct batch_shard {
  unsigned index = 1;
  unsigned count = 1;
};

struct batch_command_options : project_options {
  std::string plan;           ///< empty: each request names its own
  std::filesystem::path in;   ///< empty: standard input
  std::filesystem::path out;  ///< empty: standard output
  batch_shard shard;
  unfinished earlier = unfinished::refuse;  ///< a value other than `refuse` requires `out`
  std::optional<std::chrono::milliseconds> node_timeout;
  unsigned workers = 0;  ///< 0: as many as the machine grants
  time_fallbacks fallbacks = time_fallbacks::refused;
  std::uint64_t cache_mib = 0;  ///< for rows that nodes keep, in each thread; 0: no cache
  std::size_t in_flight = 0;    ///< requests that each thread answers at the same time; 0: as many as it can
};

struct bench_options : project_options {
  std::string plan;
  /// The path of a file with one request on each line. If the path is empty, the benchmark sends one request for each
  /// user in the embedded store.
  std::filesystem::path requests;
  std::vector<unsigned> clients{1, 2, 4, 8, 16};
  std::chrono::milliseconds duration{1000};  ///< for each number of clients
  unsigned loops = 1;
  unsigned workers = 1;  ///< for each loop
  run_order order = run_order::side_by_side;
  output_form form = output_form::people;
  std::filesystem::path plot;  ///< an SVG to write; empty: no plot
  std::string http;            ///< the URL of a server to which the requests are sent; empty: they run in this process
  /// The rates at which requests are sent to the server, in requests per second. If the list is empty, each client
  /// sends its next request as soon as the previous one is answered.
  std::vector<double> rates;
  unsigned connections = 512;  ///< for these rates
};

/// The format of capture files: lines of JSON, or Arrow IPC streams.
enum class capture_form : std::uint8_t { ndjson, arrow };

struct serve_command_options : project_options {
  serve_options server;
  std::filesystem::path token_file;  ///< empty: no client needs a token
  std::string tls_cert;              ///< if both are empty: no TLS
  std::string tls_key;
  bad_plans on_bad_plan = bad_plans::refuse_all;  ///< applies when the server starts, and when plans are reloaded
  std::filesystem::path log;                      ///< empty: standard error
  log_level level = log_level::info;
  std::filesystem::path audit;     ///< empty: no audit log
  std::filesystem::path captures;  ///< a folder for rows that plans capture; empty: they are not written
  capture_form captures_in = capture_form::ndjson;  ///< the format of the files in that folder
  std::filesystem::path exposures;          ///< a folder for the rows that answers show; empty: they are not written
  std::filesystem::path events;             ///< a folder for events that clients send; empty: events are refused
  std::chrono::seconds event_window{3600};  ///< the time during which an event id counts once
  std::uint64_t counters_mib = 256;         ///< the memory for counters over embedded stores
  std::uint64_t segment_mib = 64;           ///< the maximum size of one file of captures, exposures or events
  bool accepts_records = false;             ///< clients may change records of embedded stores
  std::string collector;                    ///< receives the spans of requests; empty: spans are not sent
  double span_share = 1;                    ///< of the traces that begin in this server
  std::filesystem::path record;             ///< a file for recorded traffic; empty: traffic is not recorded
  double record_share = 1;                  ///< the share of requests that are recorded
  std::uint64_t record_max_mib = 1024;      ///< the maximum size of the file of recorded traffic
  std::optional<std::uint64_t> cache_mib;   ///< overrides rankd.toml
  std::optional<std::uint64_t> record_cache_mib;  ///< overrides rankd.toml, too
  std::chrono::milliseconds grace{10'000};        ///< the time for received requests after the server was asked to stop
  std::uint64_t scrub_mib_per_second = 16;        ///< the speed at which embedded stores are read again; 0: never
  std::chrono::milliseconds stall_limit{0};       ///< the limit of the watchdog; 0: the value of BRAID_STALL
  std::chrono::milliseconds trace_slow{
      0};  ///< a request as slow as this writes a trace of the last seconds to a file; 0: off
  std::chrono::milliseconds announcement{0};  ///< the time between the announcement of the stop and the stop itself
  std::string page_token = {};                ///< the token of the only client of a studio; empty: not a studio
  /// Files of recorded traffic for the page. If the list is empty, the page uses the recorded traffic in the project's
  /// folder.
  std::vector<std::filesystem::path> traffic = {};
  /// The path of the compiler for plans that are edited in the page. If the path is empty, the dslc in the project's
  /// packages or in PATH is used, if there is one.
  std::string compiler = {};
};

struct load_command_options : project_options {
  std::vector<std::filesystem::path> data;  ///< files, or folders of *.ndjson; empty: the project's data folder
  /// The store to fill: a folder, written as PATH or lmdb:PATH, or the URL of a Redis server, redis://… or
  /// redis-cluster://…. If it is empty, the embedded store of the project is filled.
  std::string store;
  bool replace = false;           ///< delete the earlier contents; embedded stores only
  bool strict = false;            ///< warnings are errors
  std::filesystem::path watched;  ///< a folder whose files are loaded as they arrive, until a signal; empty: no folder
};

struct dump_command_options : project_options {
  std::string store;          ///< a folder, as path or lmdb:PATH; empty: the project's embedded store
  std::filesystem::path out;  ///< empty: standard output
  std::string prefix;         ///< the prefix of the keys; empty: all keys
};

struct validate_options : project_options {
  std::vector<std::string> plans;  ///< files or names; empty: all plans of the project
  bool strict = false;             ///< a plan with warnings counts as wrong
  output_form form = output_form::people;
};

struct list_options : project_options {
  output_form form = output_form::people;
};

/// The format in which `rankd plans NAME` prints a plan.
enum class graph_form : std::uint8_t { tables, json, dot, mermaid };

struct plans_options : list_options {
  std::string plan;  ///< a name or a file; empty: a list of all plans of the project
  graph_form graph = graph_form::tables;
};

struct diff_options : list_options {
  std::string before;  ///< a plan by its name or file
  std::string after;
  std::vector<std::filesystem::path> traffic;  ///< files of recorded traffic; empty: only the plans are compared
  /// The name of the plan whose recorded requests are run. If the name is empty, the recorded requests to the plan
  /// `before` are run.
  std::string recorded_plan;
  bool is_live = false;          ///< whether the stores are asked for data that is not recorded
  std::size_t depth = 10;        ///< the depth of the overlap
  std::size_t max_changed = 20;  ///< requests that are shown
  unsigned workers = 0;          ///< 0: as many as the machine grants
};

struct eval_options : list_options {
  std::vector<std::string> plans;    ///< one or two plans by their names or files
  std::filesystem::path judgements;  ///< each line contains a request and the relevance of ids
  quality_options quality;
  bootstrap_options bootstrap;
  std::string diversity;  ///< the key whose values are compared; empty: no diversity
  unsigned workers = 0;   ///< 0: as many as the machine grants
};

/// The part of a registry that `rankd registry` shows.
enum class registry_view : std::uint8_t { entries, digests };

struct registry_options : list_options {
  std::string registry;  ///< keys, params, features, capabilities, endpoints or experiments; empty: all of them
  registry_view show = registry_view::entries;
};

struct simulate_options : list_options {
  std::uint64_t ids = 1'000'000;
};

struct ops_options : list_options {
  bool toml = false;  ///< whether to print everything from which the bindings for authors are generated
  bool own = false;   ///< whether to print only the operators of the project's libraries
};

struct init_options {
  project_kind kind = project_kind::demo;
  std::filesystem::path folder;
  demo_size size;
};

// The functions that run the commands. Each prints its result to standard output, and progress and errors to standard
// error.

/// Returns whether the ids of the project are texts. Returns false if the project cannot be read.
auto has_text_ids(const project_options& options) -> bool;

auto rank_command(const rank_options& options) -> exit_status;
auto batch_command(const batch_command_options& options) -> exit_status;
auto bench_command(const bench_options& options) -> exit_status;
auto serve_command(const serve_command_options& options) -> exit_status;
auto load_command(const load_command_options& options) -> exit_status;
auto dump_command(const dump_command_options& options) -> exit_status;
auto validate_command(const validate_options& options) -> exit_status;
auto plans_command(const plans_options& options) -> exit_status;
/// Compares two plans. As in diff(1), returns `failed` if the plans or their answers to recorded traffic differ, and
/// `wrong_usage` for all errors.
auto diff_command(const diff_options& options) -> exit_status;
/// Adds the subcommand `diff`. If it is given on the command line, stores its function in `chosen`.
void add_diff(CLI::App& app, std::function<exit_status()>& chosen);
auto eval_command(const eval_options& options) -> exit_status;
auto ops_command(const ops_options& options) -> exit_status;
auto registry_command(const registry_options& options) -> exit_status;
auto experiment_check_command(const list_options& options) -> exit_status;
/// Simulates how experiments split users. Returns `failed` if a split differs significantly from its shares.
auto experiment_simulate_command(const simulate_options& options) -> exit_status;
auto doctor_command(const list_options& options) -> exit_status;
auto init_command(const init_options& options) -> exit_status;

}  // namespace rankd
