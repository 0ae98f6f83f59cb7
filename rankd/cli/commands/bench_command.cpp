// rankd/cli/commands/bench_command.cpp: rankd bench: measures one plan under load, in this process or over HTTP.
#include <rankd/cli/commands/commands.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/cli/output/load_plot.hpp>
#include <rankd/cli/atomic_file.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/progress.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/cli/output/table.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/engine/batch/closed_load.hpp>
#include <rankd/engine/requests/page_cursors.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/traffic/http_load.hpp>
#include <rankd/store/id_batch.hpp>
#include <rankd/store/embedded.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rankd {
namespace {

/// Returns the lines of a text that are not empty.
auto list_lines(std::string_view text) -> std::vector<std::string> {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end != 0) lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

auto requests_from(const std::filesystem::path& file) -> braid::checked<std::vector<std::string>> {
  const auto text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  auto lines = list_lines(without_mark(*text));
  if (lines.empty()) return refused("no_requests", "no request is in " + file.string());
  return lines;
}

/// Returns the error for a benchmark that has neither requests nor a store from which requests could be made.
auto no_users(const braid::diagnostics& problems) -> std::unexpected<braid::diagnostics> {
  return refused("no_requests",
                 "without --requests, rankd needs the users of an embedded store; " + problems.front().message,
                 "name a file of requests with --requests", problems.front().source);
}

/// Returns a request for each user whose hash is in the store, in the order of the store, up to a maximum.
auto requests_for_users(const workspace& workspace) -> braid::checked<std::vector<std::string>> {
  constexpr std::string_view prefix = "user:";
  constexpr std::size_t enough = 100'000;
  const auto folder = workspace.embedded_folder();
  if (!folder) return no_users(folder.error());
  const auto store = embedded_store::open(*folder);
  if (!store) return no_users(store.error());
  const auto unreadable = [](const std::error_code& error) {
    return refused("store_unreadable", "the users of the store cannot be listed: " + error.message());
  };
  const auto snapshot = store->take_snapshot();
  if (!snapshot) return unreadable(snapshot.error());
  auto at = snapshot->walk(prefix);
  if (!at) return unreadable(at.error());

  std::vector<std::string> requests;
  while (requests.size() < enough) {
    const auto entry = at->next();
    if (!entry) return unreadable(entry.error());
    if (!*entry || !(*entry)->key.starts_with(prefix)) break;
    const auto id = parse_id((*entry)->key.substr(prefix.size()), workspace.declared.id_type());
    if (!id || *id < row_id(1)) continue;
    requests.emplace_back("{\"user_id\":");
    append_json_id(requests.back(), *id);
    requests.back() += '}';
  }
  if (requests.empty())
    return refused("no_requests", "the store has no users", "name a file of requests with --requests");
  return requests;
}

auto make_requests(const bench_options& options, const workspace& workspace)
    -> braid::checked<std::vector<std::string>> {
  return options.requests.empty() ? requests_for_users(workspace) : requests_from(options.requests);
}

struct measured {
  unsigned clients = 0;
  unsigned loops = 0;
  closed_load_result seen;
};

auto to_microseconds(std::chrono::nanoseconds span) -> double {
  return std::chrono::duration<double, std::micro>(span).count();
}

struct named_part {
  std::string_view name;
  double part;
};
constexpr std::array parts{named_part{"p50", 0.5}, named_part{"p90", 0.9}, named_part{"p99", 0.99},
                           named_part{"p999", 0.999}, named_part{"max", 1}};

/// Returns a failure as one line of text. Long parts are left out.
auto failure_text(const measured& result) -> std::string {
  constexpr std::size_t enough = 400;
  std::string_view text = result.seen.first_failure;
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() <= enough) return printable(text);
  const std::string_view kept = text.substr(0, enough);
  return printable(kept.substr(0, utf8_prefix(kept))) + "…";
}

void print_table(const std::vector<measured>& all) {
  using align = text_table::align;
  std::vector<text_table::head> heads{{"clients", align::right},
                                      {"loops", align::right},
                                      {"requests", align::right},
                                      {"failed", align::right},
                                      {"per second", align::right}};
  for (const named_part& each : parts) heads.push_back({std::string(each.name) + " us", align::right});
  text_table table(std::move(heads));
  for (const measured& each : all) {
    std::vector<std::string> cells{std::to_string(each.clients), std::to_string(each.loops),
                                   std::to_string(each.seen.latencies.size()), std::to_string(each.seen.failed),
                                   printed("%.0f", each.seen.per_second())};
    for (const named_part& part : parts)
      cells.push_back(printed("%.1f", to_microseconds(each.seen.latency(part.part))));
    table.add(std::move(cells));
  }
  print(table.to_text());
  for (const measured& each : all)
    if (each.seen.failed != 0)
      print("first failure with " + counted(each.clients, "client") + ": " + failure_text(each) + "\n");
}

void append_result(std::string& out, std::string_view name, double value) {
  out += ",\"" + std::string(name) + "\":";
  append_json_number(out, value);
}

void print_json(const bench_options& options, const std::vector<measured>& all) {
  std::string out = "{\"plan\":";
  append_json_string(out, options.plan);
  out += ",\"runs\":[";
  for (const measured& each : all) {
    if (&each != &all.front()) out += ',';
    out += "{\"clients\":" + std::to_string(each.clients) + ",\"loops\":" + std::to_string(each.loops) +
           ",\"requests\":" + std::to_string(each.seen.latencies.size()) +
           ",\"failed\":" + std::to_string(each.seen.failed);
    if (each.seen.failed != 0) {
      out += ",\"first_failure\":";
      append_json_string(out, each.seen.first_failure);
    }
    append_result(out, "rps", each.seen.per_second());
    for (const named_part& part : parts)
      append_result(out, std::string(part.name) + "_us", to_microseconds(each.seen.latency(part.part)));
    out += '}';
  }
  print(out + "]}\n");
}

struct measured_rate {
  double per_second = 0;
  open_load_result seen;

  [[nodiscard]] auto good_per_second() const -> double {
    return static_cast<double>(seen.good.size()) / std::chrono::duration<double>(seen.total).count();
  }
};

using latencies = std::vector<std::chrono::nanoseconds>;
struct named_latencies {
  std::string_view name;
  latencies open_load_result::* all;
};
/// The latencies in the output. `good` and `refused` are measured from the time at which a request was due, `refusal`
/// from the time of sending. `late` is the time between the due time and the time of sending.
constexpr std::array rate_latencies{
    named_latencies{"good", &open_load_result::good}, named_latencies{"refused", &open_load_result::refused},
    named_latencies{"refusal", &open_load_result::refusals}, named_latencies{"late", &open_load_result::lateness}};
constexpr std::array rate_parts{named_part{"p50", 0.5}, named_part{"p99", 0.99}};

void print_table(const std::vector<measured_rate>& all) {
  using align = text_table::align;
  std::vector<text_table::head> heads;
  for (const char* name : {"rate", "requests", "good", "refused", "failed", "unsent", "good a second"})
    heads.push_back({name, align::right});
  for (const named_latencies& which : rate_latencies)
    for (const named_part& part : rate_parts)
      heads.push_back({std::string(which.name) + " " + std::string(part.name) + " us", align::right});
  text_table table(std::move(heads));
  for (const measured_rate& each : all) {
    std::vector<std::string> cells{printed("%.0f", each.per_second)};
    for (const std::uint64_t count :
         {each.seen.due, each.seen.good.size(), each.seen.refused.size(), each.seen.failed(), each.seen.unsent})
      cells.push_back(std::to_string(count));
    cells.push_back(printed("%.0f", each.good_per_second()));
    for (const named_latencies& which : rate_latencies)
      for (const named_part& part : rate_parts)
        cells.push_back(printed("%.1f", to_microseconds(find_latency(each.seen.*which.all, part.part))));
    table.add(std::move(cells));
  }
  print(table.to_text());
}

void print_json(const bench_options& options, const std::vector<measured_rate>& all) {
  std::string out = "{\"plan\":";
  append_json_string(out, options.plan);
  out += ",\"rates\":[";
  for (const measured_rate& each : all) {
    if (&each != &all.front()) out += ',';
    out += "{\"connections\":" + std::to_string(options.connections) +
           ",\"requests\":" + std::to_string(each.seen.due) + ",\"good\":" + std::to_string(each.seen.good.size()) +
           ",\"refused\":" + std::to_string(each.seen.refused.size()) +
           ",\"refused_without_retry_after\":" + std::to_string(each.seen.without_hint) +
           ",\"failed\":" + std::to_string(each.seen.failed()) + ",\"unsent\":" + std::to_string(each.seen.unsent);
    append_result(out, "rate", each.per_second);
    append_result(out, "good_rps", each.good_per_second());
    for (const named_latencies& which : rate_latencies)
      for (const named_part& part : parts)
        append_result(out, std::string(which.name) + "_" + std::string(part.name) + "_us",
                      to_microseconds(find_latency(each.seen.*which.all, part.part)));
    out += '}';
  }
  print(out + "]}\n");
}

auto make_plot(const bench_options& options, const std::vector<measured>& all) -> load_plot {
  constexpr double min_value = 0.001;  // if nothing was answered: a logarithmic scale has no zero
  load_plot plot{.title = "plan " + options.plan, .names = {}, .points = {}};
  for (const named_part& part : parts) plot.names.emplace_back(part.name);
  for (const measured& each : all) {
    plot.points.push_back({.clients = each.clients, .per_second = each.seen.per_second(), .latencies_us = {}});
    for (const named_part& part : parts)
      plot.points.back().latencies_us.push_back(std::max(to_microseconds(each.seen.latency(part.part)), min_value));
  }
  return plot;
}

auto write_plot(const bench_options& options, const std::vector<measured>& all) -> braid::checked<void> {
  const auto unwritable = [&](std::error_code error) {
    return refused("output_unwritable", "the plot cannot be written: " + error.message(), {}, options.plot);
  };
  auto out = atomic_file::create(options.plot);
  if (!out) return unwritable(out.error());
  if (const auto written = out->write(to_svg(make_plot(options, all))); !written) return unwritable(written.error());
  if (const auto done = out->finish(); !done) return unwritable(done.error());
  return {};
}

/// Measures one load for each number of clients. `run` measures a single load.
template <typename Run>
auto measure(const bench_options& options, Run run) -> braid::checked<std::vector<measured>> {
  std::vector<measured> all;
  for (const unsigned clients : options.clients) {
    const unsigned loops = std::min(options.loops, clients);
    auto seen = run(closed_load_options{.clients = clients,
                                        .loops = loops,
                                        .workers = options.workers,
                                        .duration = options.duration,
                                        .engine = {.order = options.order}});
    if (!seen) return std::unexpected(std::move(seen.error()));
    all.push_back({.clients = clients, .loops = loops, .seen = std::move(*seen)});
  }
  return all;
}

auto measure_here(const bench_options& options, const workspace& workspace) -> braid::checked<std::vector<measured>> {
  const auto plan = workspace.load_named_plan(options.plan);
  if (!plan) return std::unexpected(plan.error());
  const bound_plan* const read_by = &*plan;
  const auto stores = open_plan_stores(workspace, {&read_by, 1}, {.observer = load_bars()});
  if (!stores) return std::unexpected(stores.error());
  const auto requests = make_requests(options, workspace);
  if (!requests) return std::unexpected(requests.error());
  const auto cursors = make_page_cursors(workspace.where.cursors);
  return measure(options, [&](closed_load_options how) {
    how.engine.cursors = cursors;
    return run_closed_load(*plan, workspace.declared, stores->pointers(), *requests, how);
  });
}

auto find_server(const bench_options& options) -> http_load_address {
  const char* const token = std::getenv("RANKD_TOKEN");
  return {.url = options.http, .token = token == nullptr ? "" : token};
}

/// Returns the requests for a remote server, after checking that the server has the plan.
auto requests_for_server(const bench_options& options, const workspace& workspace)
    -> braid::checked<std::vector<std::string>> {
  auto requests = make_requests(options, workspace);
  if (requests) requests = requests_for_plan(std::move(*requests), options.plan);
  if (!requests) return requests;
  if (const auto is_there = check_http_load(find_server(options), options.plan); !is_there)
    return std::unexpected(is_there.error());
  return requests;
}

auto measure_server(const bench_options& options, const workspace& workspace) -> braid::checked<std::vector<measured>> {
  const auto requests = requests_for_server(options, workspace);
  if (!requests) return std::unexpected(requests.error());
  return measure(options, [&](const closed_load_options& how) {
    return run_closed_load(http_load_target(find_server(options), how.clients), *requests, how);
  });
}

auto measure_rates(const bench_options& options, const workspace& workspace)
    -> braid::checked<std::vector<measured_rate>> {
  const auto requests = requests_for_server(options, workspace);
  if (!requests) return std::unexpected(requests.error());
  std::vector<measured_rate> all;
  for (const double rate : options.rates) {
    auto seen = run_open_load(find_server(options), *requests,
                              {.per_second = rate, .connections = options.connections, .duration = options.duration});
    if (!seen) return std::unexpected(std::move(seen.error()));
    all.push_back({.per_second = rate, .seen = std::move(*seen)});
  }
  return all;
}

template <typename Measured>
void print_all(const bench_options& options, const std::vector<Measured>& all) {
  if (options.form == output_form::programs)
    print_json(options, all);
  else
    print_table(all);
}

/// Measures a server at fixed rates. Refusals do not count as failures, because the benchmark measures at which rates
/// refusals occur.
auto bench_rates(const bench_options& options, const workspace& workspace) -> exit_status {
  const auto all = measure_rates(options, workspace);
  if (!all) return report(all.error(), options.form);
  print_all(options, *all);
  const bool fine = std::ranges::all_of(*all, [](const measured_rate& each) { return each.seen.failed() == 0; });
  return fine ? exit_status::fine : exit_status::failed;
}

}  // namespace

auto bench_command(const bench_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error(), options.form);
  if (!options.rates.empty()) return bench_rates(options, *in);
  const auto all = options.http.empty() ? measure_here(options, *in) : measure_server(options, *in);
  if (!all) return report(all.error(), options.form);
  print_all(options, *all);
  if (!options.plot.empty())
    if (const auto written = write_plot(options, *all); !written) return report(written.error());
  const bool fine = std::ranges::all_of(*all, [](const measured& each) { return each.seen.failed == 0; });
  return fine ? exit_status::fine : exit_status::failed;
}

}  // namespace rankd
