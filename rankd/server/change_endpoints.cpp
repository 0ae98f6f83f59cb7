// rankd/server/change_endpoints.cpp: the versions of plans over HTTP: listed, compared, pinned, rolled back, read anew.
#include <rankd/server/detail/shard.hpp>

#include <rankd/engine/plan_comparison.hpp>
#include <rankd/registry/json_text.hpp>

#include <braid/coro/offload.hpp>
#include <braid/net/http_client.hpp>

#include <charconv>
#include <optional>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

auto number_in(std::string_view text) -> std::optional<std::uint64_t> {
  if (text.starts_with('0')) return std::nullopt;
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

auto as_json(const plan_version_info& version) -> std::string {
  std::string out = "{\"plan\":";
  append_json_string(out, version.name);
  out += ",\"version\":" + std::to_string(version.number) + ",\"digest\":";
  append_json_string(out, version.digest);
  out += ",\"loaded_at\":";
  append_json_string(out, utc_text(version.loaded_at));
  out += version.serves ? ",\"serves\":true" : ",\"serves\":false";
  out += version.pinned ? ",\"pinned\":true" : ",\"pinned\":false";
  return out + ",\"users\":" + std::to_string(version.users) + "}";
}

void append_names(std::string& out, std::string_view member, const std::vector<std::string>& names) {
  out += out.size() > 1 ? ",\"" : "\"";
  out += member;
  out += "\":[";
  for (const std::string& each : names) {
    if (!out.ends_with('[')) out += ',';
    append_json_string(out, each);
  }
  out += ']';
}

auto as_json(const reload_report& report) -> std::string {
  std::string out = "{";
  append_names(out, "added", report.added);
  append_names(out, "changed", report.changed);
  append_names(out, "unchanged", report.unchanged);
  append_names(out, "removed", report.removed);
  append_names(out, "pinned_only", report.pinned_only);
  if (report.registries_changed) out += ",\"registries_changed\":true";
  if (report.shadows_changed) out += ",\"shadows_changed\":true";
  if (!report.until_restart.empty()) append_names(out, "until_restart", report.until_restart);
  if (report.left_out.empty()) return out + "}\n";
  out += ",\"left_out\":[";
  for (const left_out_plan& each : report.left_out) {
    out += out.ends_with('[') ? "{\"plan\":" : ",{\"plan\":";
    append_json_string(out, each.name);
    out += ",\"diagnostics\":" + diagnostics_json(each.problems) + "}";
  }
  return out + "]}\n";
}

/// Of a change that was refused: what it names is not there, or not as it would have to be.
auto status_of_change(const braid::diagnostics& problems) -> http_status {
  const std::string& code = problems.front().code;
  if (code == "unknown_plan" || code == "unknown_version") return http_status::not_found;
  return code == "no_earlier_version" ? http_status::conflict : http_status::unprocessable_content;
}

}  // namespace

void shard::add_change_routes() {
  serve_get("/v1/plans/{name}/diff", [this](braid::http_exchange& x) { return compare(x); });
  if (all_->context.changes == nullptr) return;
  serve_get("/v1/plans/{name}/versions", [this](braid::http_exchange& x) { versions(x); });
  if (!all_->options.clients_change_plans) return;
  serve_post("/v1/plans/{name}/versions/{number}/pin", [this](braid::http_exchange& x) { return pin(x); });
  serve_post("/v1/plans/{name}/unpin", [this](braid::http_exchange& x) { return unpin(x); });
  serve_post("/v1/plans/{name}/rollback", [this](braid::http_exchange& x) { return roll_back(x); });
  serve_post("/v1/reload", [this](braid::http_exchange& x) { return reload(x); });
}

void shard::refuse_change(braid::http_exchange& x, endpoint which, const braid::diagnostics& problems) {
  reply(x, which, answer_error(status_of_change(problems), problems, given_request_id(x.request())));
}

void shard::versions(braid::http_exchange& x) {
  if (!may_ask(x, endpoint::versions)) return;
  std::string out = "{\"versions\":[";
  for (const plan_version_info& each : all_->context.changes->versions())
    if (each.name == x.value("name")) out += (out.ends_with('[') ? "" : ",") + as_json(each);
  if (out.ends_with('['))
    return reply(x, endpoint::versions,
                 answer_error(http_status::not_found, "unknown_plan", "no version of a plan of this name is kept",
                              given_request_id(x.request())));
  reply(x, endpoint::versions, http_status::ok, json_type, out + "]}\n");
}

void shard::changed(braid::http_exchange& x, endpoint which, const braid::checked<plan_version_info>& version) {
  if (!version) return refuse_change(x, which, version.error());
  reply(x, which, http_status::ok, json_type, as_json(*version) + "\n");
}

void shard::no_version(braid::http_exchange& x, endpoint which, std::string_view number) {
  reply(x, which,
        answer_error(http_status::not_found, "unknown_version", "`" + std::string(number) + "` is not a version number",
                     given_request_id(x.request())));
}

auto shard::asked_plan(braid::http_exchange& x, endpoint which, std::string_view name, std::string_view field)
    -> plan_handle {
  const std::string_view id = given_request_id(x.request());
  if (const auto version = braid::http_url::query_value(x.request().query, field)) {
    const auto number = number_in(*version);
    if (!number) {
      no_version(x, which, *version);
      return nullptr;
    }
    auto kept = all_->context.plans->find(name, *number);
    if (kept) return std::move(*kept);
    refuse_change(x, which, kept.error());
    return nullptr;
  }
  auto found = all_->context.plans->find(name);
  if (!found)
    reply(x, which, unknown_plan(name, {}, id));
  else if (!found->bound)
    reply(x, which, answer_left_out(found->name, found->problems, id));
  return found ? std::move(found->bound) : nullptr;
}

/// Two plans may have 10 000 nodes each: the loop ranks meanwhile.
auto shard::compare(braid::http_exchange& x) -> braid::task<void> {
  if (!may_ask(x, endpoint::diff)) co_return;
  const auto pair = asked_pair(x, endpoint::diff);
  if (!pair) co_return;
  const auto both = [pair = *pair] {
    return comparison_json(compare_plans(*pair.before, *pair.after), *pair.before, *pair.after);
  };
  auto comparing = braid::offload(on_->blocking(), both);
  const std::string text = co_await std::move(comparing);
  reply(x, endpoint::diff, http_status::ok, json_type, text);
}

// A change of what is served waits for a reload that is under way, on a thread that may wait.

auto shard::pin(braid::http_exchange& x) -> braid::task<void> {
  if (!may_edit(x, endpoint::pin)) co_return;
  const auto number = number_in(x.value("number"));
  if (!number) co_return no_version(x, endpoint::pin, x.value("number"));
  const auto pin_it = [plans = all_->context.changes, name = std::string(x.value("name")), version = *number] {
    return plans->pin(name, version);
  };
  auto changing = braid::offload(on_->blocking(), pin_it);
  const braid::checked<plan_version_info> done = co_await std::move(changing);
  changed(x, endpoint::pin, done);
}

auto shard::roll_back(braid::http_exchange& x) -> braid::task<void> {
  if (!may_edit(x, endpoint::roll_back)) co_return;
  const auto roll_it_back = [plans = all_->context.changes, name = std::string(x.value("name"))] {
    return plans->roll_back(name);
  };
  auto changing = braid::offload(on_->blocking(), roll_it_back);
  const braid::checked<plan_version_info> done = co_await std::move(changing);
  changed(x, endpoint::roll_back, done);
}

auto shard::unpin(braid::http_exchange& x) -> braid::task<void> {
  if (!may_edit(x, endpoint::unpin)) co_return;
  const auto unpin_it = [plans = all_->context.changes, name = std::string(x.value("name"))] {
    return plans->unpin(name);
  };
  auto changing = braid::offload(on_->blocking(), unpin_it);
  const auto done = co_await std::move(changing);
  if (!done) co_return refuse_change(x, endpoint::unpin, done.error());
  reply(x, endpoint::unpin, http_status::ok, json_type, "{\"pinned\":false}\n");
}

/// The disk is waited for by a thread that may wait.
auto shard::reload(braid::http_exchange& x) -> braid::task<void> {
  if (!may_edit(x, endpoint::reload)) co_return;
  const auto read_anew = [plans = all_->context.changes] { return plans->reload(); };
  auto reading = braid::offload(on_->blocking(), read_anew);
  const braid::checked<reload_report> report = co_await std::move(reading);
  if (!report) co_return refuse_change(x, endpoint::reload, report.error());
  reply(x, endpoint::reload, http_status::ok, json_type, as_json(*report));
}

}  // namespace rankd::detail
