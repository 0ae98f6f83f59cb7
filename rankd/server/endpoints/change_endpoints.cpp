// rankd/server/endpoints/change_endpoints.cpp: implements the HTTP endpoints that list, compare, pin, roll back and
// reload the versions of plans.
#include <rankd/server/detail/handlers.hpp>

#include <rankd/engine/explain/plan_comparison.hpp>
#include <rankd/registry/json_members.hpp>

#include <braid/coro/offload.hpp>
#include <braid/net/http_client.hpp>

#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

auto as_json(const plan_version_info& version) -> std::string {
  std::string out = "{";
  append_json_member(out, "plan", version.name);
  append_json_member(out, "version", static_cast<std::int64_t>(version.number));
  append_json_member(out, "digest", version.digest);
  append_json_member(out, "loaded_at", utc_text(version.loaded_at));
  out += version.serves ? ",\"serves\":true" : ",\"serves\":false";
  out += version.pinned ? ",\"pinned\":true" : ",\"pinned\":false";
  return out + ",\"users\":" + std::to_string(version.users) + "}";
}

void append_names(std::string& out, std::string_view name, const std::vector<std::string>& names) {
  append_json_name(out, name);
  append_json_strings(out, names);
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
  append_json_name(out, "left_out");
  append_json_list(out, report.left_out, [](std::string& to, const left_out_plan& each) {
    to += '{';
    append_json_member(to, "plan", each.name);
    to += ",\"diagnostics\":" + diagnostics_json(each.problems) + "}";
  });
  return out + "}\n";
}

/// Answers with the version that is served now.
void reply_changed(endpoint_context& context, braid::http_exchange& x, endpoint endpoint,
                   const braid::checked<plan_version_info>& version) {
  if (!version) return refuse_change(context, x, endpoint, version.error());
  reply(context, x, endpoint, http_status::ok, json_type, as_json(*version) + "\n");
}

}  // namespace

auto answer_versions(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  std::string out = "{\"versions\":[";
  for (const plan_version_info& each : context.serving().changes->versions())
    if (each.name == x.value("name")) out += (out.ends_with('[') ? "" : ",") + as_json(each);
  if (out.ends_with('[')) {
    reply(context, x, endpoint::versions,
          answer_error(http_status::not_found, "unknown_plan", "the server has no version of a plan with this name",
                       given_request_id(x.request())));
    return {};
  }
  reply(context, x, endpoint::versions, http_status::ok, json_type, out + "]}\n");
  return {};
}

/// Compares two plans on a thread, so that the loop can rank in the meantime. Each plan may have 10 000 nodes.
auto answer_diff(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const auto pair = asked_pair(context, x, endpoint::diff);
  if (!pair) co_return;
  const auto both = [pair = *pair] {
    return comparison_json(compare_plans(*pair.before, *pair.after), *pair.before, *pair.after);
  };
  auto comparing = braid::offload(context.runtime->blocking(), both);
  const std::string text = co_await std::move(comparing);
  reply(context, x, endpoint::diff, http_status::ok, json_type, text);
}

// Changes of the served versions wait for a running reload, so they run on a thread that may block.

auto answer_pin(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const auto number = version_number(x.value("number"));
  if (!number) co_return refuse_version(context, x, endpoint::pin, x.value("number"));
  const auto pin_it = [plans = context.serving().changes, name = std::string(x.value("name")), version = *number] {
    return plans->pin(name, version);
  };
  auto changing = braid::offload(context.runtime->blocking(), pin_it);
  const braid::checked<plan_version_info> done = co_await std::move(changing);
  reply_changed(context, x, endpoint::pin, done);
}

auto answer_rollback(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const auto roll_it_back = [plans = context.serving().changes, name = std::string(x.value("name"))] {
    return plans->roll_back(name);
  };
  auto changing = braid::offload(context.runtime->blocking(), roll_it_back);
  const braid::checked<plan_version_info> done = co_await std::move(changing);
  reply_changed(context, x, endpoint::roll_back, done);
}

auto answer_unpin(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const auto unpin_it = [plans = context.serving().changes, name = std::string(x.value("name"))] {
    return plans->unpin(name);
  };
  auto changing = braid::offload(context.runtime->blocking(), unpin_it);
  const auto done = co_await std::move(changing);
  if (!done) co_return refuse_change(context, x, endpoint::unpin, done.error());
  reply(context, x, endpoint::unpin, http_status::ok, json_type, "{\"pinned\":false}\n");
}

/// Reloads on a thread that may block, because a reload waits for the disk.
auto answer_reload(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const auto read_anew = [plans = context.serving().changes] { return plans->reload(); };
  auto reading = braid::offload(context.runtime->blocking(), read_anew);
  const braid::checked<reload_report> report = co_await std::move(reading);
  if (!report) co_return refuse_change(context, x, endpoint::reload, report.error());
  reply(context, x, endpoint::reload, http_status::ok, json_type, as_json(*report));
}

}  // namespace rankd::detail
