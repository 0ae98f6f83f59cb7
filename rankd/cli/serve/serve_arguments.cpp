// rankd/cli/serve/serve_arguments.cpp: adds the options of rankd serve.
#include <rankd/cli/detail/serve_arguments.hpp>

#include <rankd/cli/detail/common_options.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace rankd::detail {
namespace {

void add_serve_limits(CLI::App& command, serve_command_options& options) {
  serve_options& server = options.server;
  command
      .add_option("--max-in-flight", server.max_in_flight,
                  "The maximum number of requests that are ranked at the same time")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--queue", server.queue,
                  "The maximum number of requests that wait to be ranked; further requests are refused")
      ->check(whole_number(0, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--max-batch", server.max_batch,
                  "The maximum number of requests in one call of /v1/rank/batch; a larger call is answered with 413")
      ->check(whole_number(1, 10'000))
      ->capture_default_str();
  command
      .add_option("--client-in-flight", server.client_in_flight,
                  "The maximum number of requests in flight per client of --token-file; others are answered with 429; "
                  "default: no limit")
      ->check(whole_number(1, 1'000'000));
  command
      .add_option("--time-nodes-of", server.engine.timed_of,
                  "Measure the node times for /metrics in one of every N requests")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--cache-mib", options.cache_mib,
                  "Memory for all node caches; 0: no caches; default: `[cache]` of rankd.toml, 64")
      ->check(whole_number(0, 1 << 20));
  command
      .add_option("--record-cache-mib", options.record_cache_mib,
                  "Memory for cached values from Redis; 0: no cache; default: `[record_cache]` of rankd.toml, 0")
      ->check(whole_number(0, 1 << 20));
  add_milliseconds(command, "--max-wait-ms", server.max_wait,
                   "Refuse new requests while a request has waited longer than this", 0);
  command
      .add_option_function<int>(
          "--refusal-percent", [&server](int percent) { server.refusal_share = percent / 100.0; },
          "The maximum percentage of an event loop's time for refusals; beyond it, refused connections are read later; "
          "default: 10")
      ->check(whole_number(0, 100))
      ->type_name("N");
  command
      .add_option("--connections", server.http.connections,
                  "The maximum number of open connections; further connections wait to be accepted")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--max-body-bytes", server.http.limits.body_bytes, "The maximum size of the body of a request")
      ->check(whole_number(1, 16 << 20))
      ->capture_default_str();
  command.add_option("--max-header-bytes", server.http.limits.head_bytes, "The maximum size of the head of a request")
      ->check(whole_number(256, 1 << 20))
      ->capture_default_str();
  add_milliseconds(command, "--header-timeout-ms", server.http.head_timeout,
                   "The maximum time to receive the head of a request");
  add_milliseconds(command, "--body-timeout-ms", server.http.body_timeout,
                   "The maximum time to receive the body of a request");
  add_milliseconds(command, "--idle-timeout-ms", server.http.idle_timeout,
                   "The maximum time between two requests of a connection");
  command.add_flag_callback(
      "--no-http2", [&server] { server.http.http2.enabled = false; },
      "Accept HTTP/1.1 only; without this option, clients can choose HTTP/2 by ALPN or by their first bytes");
  add_milliseconds(command, "--default-deadline-ms", server.default_deadline,
                   "Deadline of requests that set no deadline, counted from their arrival");
}

void add_captures(CLI::App& command, serve_command_options& options) {
  auto* captures = command
                       .add_option("--captures", options.captures,
                                   "Folder for the rows that nodes of plans capture; default: no folder")
                       ->check(check_not_empty)
                       ->type_name("DIR");
  command
      .add_option_function<std::string>(
          "--captures-form",
          [&options](const std::string& name) {
            options.captures_in = name == "arrow" ? capture_form::arrow : capture_form::ndjson;
          },
          "Format of the files in that folder: ndjson, or arrow for Arrow IPC streams; default: ndjson")
      ->check(CLI::IsMember({"ndjson", "arrow"}))
      ->needs(captures)
      ->type_name("FORM");
  command
      .add_option("--exposures", options.exposures,
                  "Folder for the rows that answers show, which can be joined with events; default: no folder")
      ->check(check_not_empty)
      ->type_name("DIR");
}

void add_serve_output(CLI::App& command, serve_command_options& options) {
  command.add_option("--log", options.log, "File for the log, as lines of JSON; default: standard error")
      ->check(check_not_empty)
      ->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--log-level",
          [&options](const std::string& name) { options.level = parse_log_level(name).value_or(options.level); },
          "off, error, warning, info or debug; default: info")
      ->check(CLI::IsMember({"off", "error", "warning", "info", "debug"}))
      ->type_name("LEVEL");
  auto* collector = command
                        .add_option("--otlp", options.collector,
                                    "Collector for spans of requests, sent by OTLP over HTTP; default: no collector")
                        ->check(check_collector_url)
                        ->type_name("URL");
  command
      .add_option("--otlp-share", options.span_share,
                  "Share of the traces that begin at this server whose spans are sent to the collector")
      ->check(number_between(0, 1))
      ->capture_default_str()
      ->needs(collector);
  command
      .add_option("--audit", options.audit, "File for the audit, one line of JSON for each request; default: no file")
      ->check(check_not_empty)
      ->type_name("FILE");
  add_captures(command, options);
  auto* events = command
                     .add_option("--events", options.events,
                                 "Folder for events that clients send to /v1/events; default: events are refused")
                     ->check(check_not_empty)
                     ->type_name("DIR");
  command
      .add_option("--max-events", options.server.max_events,
                  "The maximum number of events in one call of /v1/events; a larger call is answered with 413")
      ->check(whole_number(1, 100'000))
      ->needs(events)
      ->capture_default_str();
  command
      .add_option_function<std::int64_t>(
          "--event-window-s", [&options](std::int64_t s) { options.event_window = std::chrono::seconds(s); },
          "Period in which events with the same id count only once; default: 3600")
      ->check(whole_number(1, 30 * 86'400))
      ->needs(events)
      ->type_name("S");
  command
      .add_option("--counters-mib", options.counters_mib,
                  "Memory for the values that events write; they override the values of an embedded store")
      ->check(whole_number(1, 1 << 20))
      ->needs(events)
      ->capture_default_str();
  command.add_flag("--accept-records", options.accepts_records,
                   "Let clients change records of embedded stores by POST /v1/records; if there are tokens, only with "
                   "the right `write`");
  command
      .add_option("--segment-mib", options.segment_mib,
                  "The maximum size of one file in the folders of events, captures and exposures")
      ->check(whole_number(1, 1 << 20))
      ->capture_default_str();
  auto* record =
      command
          .add_option(
              "--record", options.record,
              "File to record requests and their reads in, for `rankd replay`; must not exist; default: no file")
          ->check(check_not_empty)
          ->type_name("FILE");
  command.add_option("--record-share", options.record_share, "Share of the requests to record")
      ->check(number_between(0, 1))
      ->needs(record)
      ->capture_default_str();
  command
      .add_option("--record-max-mib", options.record_max_mib,
                  "The maximum size of that file; a request that does not fit ends the recording")
      ->check(whole_number(1, 1 << 20))
      ->needs(record)
      ->capture_default_str();
}

/// Adds the options that decide which requests are accepted.
void add_clients(CLI::App& command, serve_command_options& options) {
  command
      .add_option("--token-file", options.token_file,
                  "File of accepted bearer tokens, one on each line; default: no token is required")
      ->check(check_not_empty)
      ->type_name("FILE");
  command
      .add_option("--allow-host", options.server.allowed_hosts,
                  "Host name for which a server without --token-file answers; `*`: any host; may be repeated")
      ->check(check_host_name)
      ->type_name("NAME");
}

}  // namespace

void add_listen(CLI::App& command, const std::shared_ptr<serve_command_options>& options,
                std::string (*check)(const std::string&)) {
  command
      .add_option_function<std::string>(
          "--listen",
          [options](const std::string& text) {
            options->server.listen = braid::socket_address::parse(text).value_or(options->server.listen);
          },
          "Address and port to listen on; port 0 chooses and prints a free port; default: 127.0.0.1:8080")
      ->check(check)
      ->type_name("ADDR:PORT");
}

void add_serve(CLI::App& app, std::function<exit_status()>& chosen) {
  auto* command = app.add_subcommand("serve", "Answer requests over HTTP, until SIGTERM or SIGINT");
  auto options = std::make_shared<serve_command_options>();
  options->server.loops = 0;
  add_project(*command, *options);
  add_listen(*command, options, check_listen);
  command->add_option("--loops", options->server.loops, "Number of event loops; default: one for each available CPU")
      ->check(whole_number(1, 4096));
  command->add_option("--workers", options->server.workers, "Number of compute threads for each event loop")
      ->check(whole_number(1, 4096))
      ->capture_default_str();
  add_node_timeout(*command, options->server.engine);
  add_clients(*command, *options);
  auto* certificate = command
                          ->add_option("--tls-cert", options->tls_cert,
                                       "PEM file of the certificate and its intermediates; enables TLS")
                          ->check(check_not_empty)
                          ->type_name("FILE");
  auto* key = command->add_option("--tls-key", options->tls_key, "PEM file of the certificate's key")
                  ->check(check_not_empty)
                  ->type_name("FILE")
                  ->needs(certificate);
  certificate->needs(key);
  command
      ->add_flag("--allow-changes", options->server.clients_change_plans,
                 "Let clients whose token has the right `edit` pin, roll back and reload plans")
      ->needs("--token-file");
  command->add_flag("--ui", options->server.shows_page,
                    "Show plans on a web page at /ui; without tokens, this needs a loopback address");
  command->add_flag_callback(
      "--keep-going", [options] { options->on_bad_plan = bad_plans::leave_out; },
      "Serve the valid plans if others are invalid; /readyz, /metrics and the log show which plans are left out");
  add_serve_limits(*command, *options);
  add_serve_output(*command, *options);
  command
      ->add_option("--scrub-mib-s", options->scrub_mib_per_second,
                   "MiB of embedded stores whose checksums are verified each second; 0: off")
      ->check(whole_number(0, 1'000'000))
      ->capture_default_str();
  add_milliseconds(
      *command, "--stall-ms", options->stall_limit,
      "Log an event loop or a worker that is stuck for this long, with its stack; 0: use the value of BRAID_STALL", 0);
  add_milliseconds(*command, "--trace-slow-ms", options->trace_slow,
                   "Write a trace after a request that took this long; needs BRAID_TRACE=FILE,last=8s; 0: never", 0);
  add_milliseconds(*command, "--grace-ms", options->grace,
                   "After a request to stop, the time to answer the requests already received", 0);
  add_milliseconds(
      *command, "--announce-ms", options->announcement,
      "After a request to stop, the time for which `/readyz` answers 503 but connections are still accepted", 0);
  command->footer(
      "The first SIGTERM or SIGINT stops the server when all received requests are answered; a second signal stops\n"
      "it at once. SIGHUP reloads all plans, or no plan if one is invalid. With --keep-going it reloads the valid\n"
      "plans, and the other plans keep their version. SIGHUP also reopens the files of --log and --audit.");
  command->callback([options, &chosen] { chosen = [options] { return serve_command(*options); }; });
}

}  // namespace rankd::detail
