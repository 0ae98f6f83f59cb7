// rankd/cli/bench_command.cpp: rankd bench: one plan under load, in this process.
#include <rankd/cli/commands.hpp>
#include <rankd/cli/complaint.hpp>
#include <rankd/cli/report.hpp>
#include <rankd/cli/table.hpp>
#include <rankd/cli/workspace.hpp>
#include <rankd/engine/closed_load.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/store/batch.hpp>
#include <rankd/store/embedded.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace rankd {
namespace {

/// Lines that are not empty.
auto lines_of(std::string_view text) -> std::vector<std::string> {
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
  auto lines = lines_of(without_mark(*text));
  if (lines.empty()) return refused("no_requests", "there is no request in " + file.string());
  return lines;
}

/// A request for each user that the store has a hash of, in the order of the store, up to as many as are enough.
auto requests_for_users(const workspace& in) -> braid::checked<std::vector<std::string>> {
  constexpr std::string_view prefix = "user:";
  constexpr std::size_t enough = 100'000;
  const auto folder = in.embedded_folder();
  if (!folder) return std::unexpected(folder.error());
  const auto store = embedded_store::open(*folder);
  if (!store) return std::unexpected(store.error());
  const auto unreadable = [](const std::error_code& why) {
    return refused("store_unreadable", "the users of the store cannot be listed: " + why.message());
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
    const auto id = parse_id((*entry)->key.substr(prefix.size()));
    if (id && *id > 0) requests.push_back("{\"user_id\":" + std::to_string(*id) + "}");
  }
  if (requests.empty()) return refused("no_requests", "the store has no users", "name a file of requests");
  return requests;
}

struct measured {
  unsigned clients = 0;
  unsigned loops = 0;
  closed_load_result seen;
};

auto microseconds(std::chrono::nanoseconds span) -> double {
  return std::chrono::duration<double, std::micro>(span).count();
}

auto printed(const char* format, double value) -> std::string {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, value);
  return buffer.data();
}

struct named_part {
  std::string_view name;
  double part;
};
constexpr std::array parts{named_part{"p50", 0.5}, named_part{"p90", 0.9}, named_part{"p99", 0.99},
                           named_part{"max", 1}};

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
    for (const named_part& part : parts) cells.push_back(printed("%.1f", microseconds(each.seen.latency(part.part))));
    table.add(std::move(cells));
  }
  print(table.to_text());
}

void append_figure(std::string& out, std::string_view name, double value) {
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
    append_figure(out, "rps", each.seen.per_second());
    for (const named_part& part : parts)
      append_figure(out, std::string(part.name) + "_us", microseconds(each.seen.latency(part.part)));
    out += '}';
  }
  print(out + "]}\n");
}

}  // namespace

auto bench_command(const bench_options& options) -> exit_status {
  const auto in = workspace::open(options.project);
  if (!in) return report(in.error(), options.form);
  const auto plan = in->load_plan_of(options.plan);
  if (!plan) return report(plan.error(), options.form);
  const auto stores = open_all_stores(*in);
  if (!stores) return report(stores.error(), options.form);
  const auto requests = options.requests.empty() ? requests_for_users(*in) : requests_from(options.requests);
  if (!requests) return report(requests.error(), options.form);

  std::vector<measured> all;
  for (const unsigned clients : options.clients) {
    const unsigned loops = std::min(options.loops, clients);
    auto seen = run_closed_load(*plan, in->declared, stores->pointers(), *requests,
                                {.clients = clients,
                                 .loops = loops,
                                 .workers = options.workers,
                                 .duration = options.duration,
                                 .engine = {.order = options.order}});
    if (!seen) return report(seen.error(), options.form);
    all.push_back({.clients = clients, .loops = loops, .seen = std::move(*seen)});
  }
  if (options.form == output_form::programs)
    print_json(options, all);
  else
    print_table(all);
  const bool fine = std::ranges::all_of(all, [](const measured& each) { return each.seen.failed == 0; });
  return fine ? exit_status::fine : exit_status::failed;
}

}  // namespace rankd
