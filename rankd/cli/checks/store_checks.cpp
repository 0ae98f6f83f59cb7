// rankd/cli/checks/store_checks.cpp: checks stores for rankd doctor: reads embedded stores, and contacts servers.
#include <rankd/cli/checks/checkup.hpp>

#include <rankd/cli/checks/data_check.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/engine/engine.hpp>
#include <rankd/plan/artifact_folder.hpp>
#include <rankd/store/embedded.hpp>
#include <rankd/store/model_server.hpp>
#include <rankd/store/redis_options.hpp>

#include <braid/base/arena.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/sockets.hpp>
#include <braid/net/redis_connection.hpp>
#include <braid/runtime/runtime.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <charconv>
#include <cstdio>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

namespace rankd {
namespace {

namespace fs = std::filesystem;

auto format_area(const endpoint_entry& endpoint) -> std::string { return "store " + endpoint.endpoint_id; }

/// Returns whether a data file of the project is newer than the store that was loaded from it.
auto data_is_younger(const fs::path& data, const fs::path& folder) -> bool {
  std::error_code error;
  const auto filled = fs::last_write_time(folder / store_manifest::file_name, error);
  if (error) return false;
  for (const auto& entry : fs::directory_iterator(data, error))
    if (entry.path().extension() == ".ndjson" && entry.last_write_time(error) > filled && !error) return true;
  return false;
}

/// Reads the first records of a store. Returns the number of all records in the store, and the number of records that
/// were read.
auto read_sample(const embedded_store& opened) -> braid::result<std::pair<std::uint64_t, std::size_t>> {
  constexpr std::size_t enough = 1000;
  const auto snapshot = opened.take_snapshot();
  if (!snapshot) return std::unexpected(snapshot.error());
  const auto count = snapshot->count();
  if (!count) return std::unexpected(count.error());
  auto at = snapshot->walk();
  if (!at) return std::unexpected(at.error());
  std::size_t read = 0;
  while (read < enough) {
    const auto entry = at->next();
    if (!entry) return std::unexpected(entry.error());
    if (!*entry) break;
    const auto again = snapshot->find((*entry)->key);
    if (!again) return std::unexpected(again.error());
    if (!*again) return std::unexpected(std::make_error_code(std::errc::io_error));
    ++read;
  }
  return std::pair(*count, read);
}

/// Adds warnings about records and columns that plans read but the store lacks, and about malformed values.
void check_columns(const endpoint_entry& endpoint, const workspace& workspace, const embedded_store& opened,
                   checkup& checkup) {
  constexpr std::size_t enough = 100'000;
  const std::array endpoints{endpoint.endpoint_id};
  data_check check(workspace, {.endpoints = endpoints});
  const auto snapshot = opened.take_snapshot();
  if (!snapshot || !check.columns().read(*snapshot, enough)) return;  // unreadable records were found before
  const std::string area = format_area(endpoint);
  checkup.warn(area, check.columns().missing_records(), "correct the data, or the plan");
  checkup.warn(area, check.columns().missing_columns(), "correct the data, or the name of the key in keys.toml");
  checkup.warn(area, check.columns().malformed_values(), "correct the data");
}

void check_embedded(const endpoint_entry& endpoint, const workspace& workspace, checkup& checkup) {
  const std::string area = format_area(endpoint);
  const fs::path folder = workspace.where.root / std::get<embedded_resolver>(endpoint.resolver).path;
  std::error_code error;
  if (!fs::exists(folder / store_manifest::file_name, error) && workspace.where.data)
    return checkup.warn(area, folder.string() + " has not been filled yet",
                        "run rankd load to fill it; otherwise the first request fills it");
  const auto opened = embedded_store::open(folder);
  if (!opened) return checkup.fail(area, opened.error(), "delete the folder, and load the data again: rankd load");
  if (!opened->manifest().checksums)
    checkup.warn(area, folder.string() + " has no checksums: damage on the disk would stay undetected",
                 "load the data again: rankd load --replace");
  const auto sample = read_sample(*opened);
  if (!sample)
    return checkup.fail(area, folder.string() + " cannot be read: " + sample.error().message(),
                        "delete the folder, and load the data again: rankd load");
  const std::string found = counted(sample->first, "record") + " in " +
                            std::to_string(opened->manifest().data_bytes / 1024) + " KiB, generation " +
                            std::to_string(opened->manifest().generation) + ", " + std::to_string(sample->second) +
                            " read";
  if (sample->first == 0) {
    checkup.warn(area, found, "fill it: rankd load");
  } else {
    checkup.ok(area, found);
    check_columns(endpoint, workspace, *opened, checkup);
  }
  if (workspace.where.data && data_is_younger(*workspace.where.data, folder))
    checkup.warn(area, "the project's data has changed since the store was filled",
                 "run rankd load to apply the changes");
}

/// The answers of a Redis server to the commands that the check sends first.
struct greeting {
  std::error_code failure;
  std::string refusal;  ///< the text of an error reply, or of a refused connection; or empty
  std::string info;
  std::int64_t keys = 0;
  std::vector<braid::duration> pings;
};

auto ask(braid::redis_connection& server, std::span<const std::string_view> words, braid::arena& memory, greeting& into)
    -> braid::task<braid::resp_value> {
  auto call = server.command(words, memory);
  const braid::result<braid::resp_value> reply = co_await call;
  if (!reply) {
    into.failure = reply.error();
    into.refusal = std::string(server.refusal_of(reply.error()));
    co_return braid::resp_value();
  }
  if (reply->is_error()) into.refusal = std::string(reply->text());
  co_return *reply;
}

auto greet(braid::loop& loop, braid::redis_options options) -> braid::task<greeting> {
  static constexpr std::array<std::string_view, 1> ping{"PING"};
  static constexpr std::array<std::string_view, 1> info{"INFO"};
  static constexpr std::array<std::string_view, 1> size{"DBSIZE"};
  constexpr int pings = 20;
  greeting seen;
  braid::arena memory;
  braid::redis_connection server(loop, std::move(options));
  for (int at = 0; at < pings; ++at) {
    const braid::time_point begin = braid::steady_time().now();
    auto pong = ask(server, ping, memory, seen);
    co_await std::move(pong);
    if (seen.failure || !seen.refusal.empty()) co_return seen;
    seen.pings.push_back(braid::steady_time().now() - begin);
  }
  auto asking = ask(server, info, memory, seen);
  const braid::resp_value info_reply = co_await std::move(asking);
  if (info_reply.has_text() && !info_reply.is_error()) seen.info = std::string(info_reply.text());
  if (seen.failure || !seen.refusal.empty()) co_return seen;
  auto counting = ask(server, size, memory, seen);
  const braid::resp_value keys = co_await std::move(counting);
  if (keys.type() == braid::resp_type::integer) seen.keys = keys.integer();
  co_return seen;
}

/// Returns the value of a line `name:value` in the reply to INFO, or an empty text if there is no such line.
auto info_of(std::string_view info, std::string_view name) -> std::string {
  for (std::size_t at = info.find(name); at != std::string_view::npos; at = info.find(name, at + 1)) {
    const bool begins = at == 0 || info[at - 1] == '\n';
    const std::size_t value = at + name.size();
    if (!begins || value >= info.size() || info[value] != ':') continue;
    const std::string_view rest = info.substr(value + 1);
    return std::string(rest.substr(0, rest.find_first_of("\r\n")));
  }
  return {};
}

auto whole_microseconds(braid::duration span) -> std::string {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(span).count()) + " us";
}

void judge(const endpoint_entry& endpoint, const std::string& place, greeting seen, checkup& checkup) {
  const std::string area = format_area(endpoint);
  std::ranges::sort(seen.pings);
  const std::string version = info_of(seen.info, "redis_version");
  checkup.ok(area, place + ": Redis " + (version.empty() ? "of unknown version" : version) + ", " +
                       counted(static_cast<std::uint64_t>(seen.keys), "key") + ", PING in " +
                       whole_microseconds(seen.pings[seen.pings.size() / 2]) + ", at most " +
                       whole_microseconds(seen.pings.back()));
  if (!seen.refusal.empty())
    checkup.warn(area, place + " refuses a command: " + seen.refusal,
                 "allow this user to run INFO and DBSIZE, so that rankd doctor can check more");
  if (info_of(seen.info, "redis_mode") == "cluster")
    checkup.warn(area, place + " is a node of a cluster",
                 "use a resolver of type cluster: without it, commands for keys of other nodes fail");
  if (info_of(seen.info, "loading") == "1")
    checkup.warn(area, place + " is loading its data",
                 "wait until the server has loaded its data: until then, requests fail");
  if (seen.refusal.empty() && seen.keys == 0)
    checkup.warn(area, place + " holds no key", "rankd load --store " + place + " fills it");
  if (seen.pings.back() > endpoint.policy.request_timeout / 4)
    checkup.warn(area, place + " needed more than a quarter of request_timeout_ms to answer a PING",
                 "check the load of the server and the network, or increase request_timeout_ms");
}

void check_server(const endpoint_entry& endpoint, braid::runtime& runtime, checkup& checkup) {
  const std::string area = format_area(endpoint);
  const auto how = parse_redis_options(endpoint);
  if (!how) return checkup.fail(area, how.error(), "correct the endpoint, or the variables RANKD_REDIS_…");
  greeting seen = runtime.run(greet(runtime.io(), *how));
  const std::string place = find_place(*how);
  if (seen.pings.empty()) {
    const std::string why = seen.refusal.empty() ? seen.failure.message() : seen.refusal;
    return checkup.fail(
        area, place + ": " + why,
        "start the server, correct its host and port in the registry, or correct the variable RANKD_REDIS_PASSWORD");
  }
  judge(endpoint, place, std::move(seen), checkup);
}

void check_models(const endpoint_entry& endpoint, braid::runtime& runtime, checkup& checkup) {
  const std::string area = format_area(endpoint);
  const auto how = make_model_server_options(endpoint, server_messages::shown);
  if (!how) return checkup.fail(area, how.error(), "correct the variables RANKD_MODEL_…");
  const auto why = runtime.run(ask_model_server(runtime.io(), runtime.blocking(), *how));
  if (!why) return checkup.ok(area, how->origin + ": the model server is ready");
  checkup.fail(
      area, how->origin + ": " + *why,
      "start the model server, correct its host and port in the registry, or correct the variable RANKD_MODEL_TOKEN");
}

/// Returns the ids of the endpoints that nodes of plans use.
auto endpoints_in_plans(const workspace& workspace) -> std::set<std::string> {
  std::set<std::string> out;
  const auto artifacts = list_artifacts(workspace.where.plans);
  if (!artifacts) return out;
  for (const artifact& each : *artifacts)
    if (const auto bound = workspace.load_named_plan(each.name))
      for (const plan_node& node : bound->stated->nodes)
        for (const plan_param& option : node.params)
          if (option.kind == param_kind::endpoint_ref) out.insert(std::get<std::string>(option.value));
  return out;
}

}  // namespace

void check_stores(const workspace& workspace, checkup& checkup) {
  std::unique_ptr<braid::runtime> on;
  const std::set<std::string> named = endpoints_in_plans(workspace);
  for (const endpoint_entry& endpoint : workspace.declared.endpoints()) {
    if (endpoint.kind == endpoint_entry::kind_type::vectors) continue;
    // Skips a model server that no plan calls, because it need not be running.
    if (endpoint.kind == endpoint_entry::kind_type::http && !named.contains(endpoint.endpoint_id)) continue;
    if (std::holds_alternative<embedded_resolver>(endpoint.resolver)) {
      check_embedded(endpoint, workspace, checkup);
      continue;
    }
    if (on == nullptr) {
      auto made = braid::runtime::create({.workers = 1, .name = "doctor"});
      if (!made) return checkup.fail(format_area(endpoint), no_runtime(made.error()), "allow more threads");
      on = std::move(*made);
    }
    if (endpoint.kind == endpoint_entry::kind_type::http)
      check_models(endpoint, *on, checkup);
    else
      check_server(endpoint, *on, checkup);
  }
}

}  // namespace rankd
