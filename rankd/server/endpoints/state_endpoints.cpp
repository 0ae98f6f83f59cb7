// rankd/server/endpoints/state_endpoints.cpp: what a server tells about itself: health, readiness, limits, the OpenAPI
// description, the page, and the results of candidates.
#include <rankd/server/detail/handlers.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/endpoints/openapi.hpp>
#include <rankd/server/studio/page.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

/// Returns why the artifact of a plan was left out, without paths of files, because every client may read this.
auto left_out_json(const known_plan& plan) -> std::string {
  std::string out = "{";
  append_json_member(out, "plan", plan.name);
  out += plan.bound ? ",\"serves_earlier\":true" : ",\"serves_earlier\":false";
  append_json_member(out, "code", plan.problems.front().code);
  append_json_member(out, "message", plan.problems.front().message);
  return out + "}";
}

/// Returns the damage of the first damaged store; empty if no store is damaged.
auto store_damage(const endpoint_context& context) -> std::string {
  for (std::size_t at = 0; at < context.stores.size(); ++at) {
    if (!context.stores[at]) continue;
    if (const std::string damage = context.stores[at]->damage(); !damage.empty())
      return "endpoint `" + context.serving().declared->endpoints()[at].endpoint_id + "`: " + damage;
  }
  return {};
}

/// Returns the stores for the answer about readiness: embedded stores with their generations, and remote stores by
/// name. Embedded stores are checked for damage; remote stores are not contacted.
auto stores_json(const endpoint_context& context) -> std::string {
  std::string checked;
  std::string unchecked;
  const auto& declared = context.serving().declared->endpoints();
  for (std::size_t at = 0; at < context.stores.size(); ++at) {
    if (!context.stores[at]) continue;
    const std::uint64_t generation = context.stores[at]->generation();
    std::string& to = generation == 0 ? unchecked : checked;
    to += (to.empty() ? "" : ",");
    if (generation == 0)
      append_json_string(to, declared[at].endpoint_id);
    else {
      to += '{';
      append_json_member(to, "endpoint", declared[at].endpoint_id);
      to += ",\"generation\":" + std::to_string(generation) + "}";
    }
  }
  return ",\"stores\":[" + checked + "],\"unchecked\":[" + unchecked + "]";
}

auto find_page_file(std::string_view path) -> const page_file& {
  return *std::ranges::find(page_files(), path, &page_file::path);
}

}  // namespace

auto answer_health(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  reply(context, x, endpoint::health, http_status::ok, json_type, "{\"status\":\"ok\",\"checks\":[\"loop\"]}\n");
  return {};
}

auto answer_ready(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  if (context.shared->stopping.load(braid::relaxed)) {
    static_cast<void>(x.set_field("Retry-After", "1"));
    reply(context, x, endpoint::ready,
          answer_error(http_status::service_unavailable, "stopping", "the server is about to stop"));
    return {};
  }
  // A damaged store makes this replica unready, because other replicas are not damaged. An unreachable store server
  // would affect all replicas.
  if (const std::string damage = store_damage(context); !damage.empty()) {
    reply(context, x, endpoint::ready, answer_error(http_status::service_unavailable, "store_corrupt", damage));
    return {};
  }
  // Plans that were left out do not make the replica unready: all replicas have the same plans, so the whole service
  // would stop.
  std::string left_out;
  for (const known_plan& each : context.serving().plans->list())
    if (!each.problems.empty()) left_out += (left_out.empty() ? "" : ",") + left_out_json(each);
  const std::string more = left_out.empty() ? "" : ",\"left_out\":[" + left_out + "]";
  const std::string checks = R"(,"checks":["stopping","store_damage"])" + stores_json(context);
  reply(context, x, endpoint::ready, http_status::ok, json_type, "{\"status\":\"ready\"" + checks + more + "}\n");
  return {};
}

/// Answers with the limits that a client needs to size its calls.
auto answer_limits(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const serve_options& options = context.options();
  std::string out = "{";
  append_json_count(out, "max_body_bytes", options.http.limits.body_bytes);
  append_json_count(out, "max_batch", options.max_batch);
  if (context.serving().events != nullptr) append_json_count(out, "max_events", options.max_events);
  append_json_member(out, "default_deadline_ms", options.default_deadline.count());
  if (context.tokens != nullptr && options.client_in_flight)
    append_json_count(out, "client_in_flight", *options.client_in_flight);
  reply(context, x, endpoint::limits, http_status::ok, json_type, out + "}\n");
  return {};
}

auto answer_openapi(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  reply(context, x, endpoint::openapi, http_status::ok, json_type, openapi_text());
  return {};
}

/// Sends a file of the page. No token is needed: the files contain nothing about this server, and requests from the
/// page need a token if the server has tokens.
auto answer_page(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const page_file& file = find_page_file(x.route());
  static_cast<void>(x.set_field("Content-Security-Policy", page_policy));
  static_cast<void>(x.set_field("X-Content-Type-Options", "nosniff"));
  static_cast<void>(x.set_field("Referrer-Policy", "no-referrer"));
  static_cast<void>(x.set_field("Cache-Control", "no-cache"));
  reply(context, x, endpoint::page, http_status::ok, file.type, file.text);
  return {};
}

auto answer_shadow(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const auto board = context.shared->shadows.find(x.value("name"));
  if (board == nullptr) {
    reply(context, x, endpoint::shadow,
          answer_error(http_status::not_found, "unknown_shadow",
                       "there is no candidate for a plan called " + quote_name(x.value("name")),
                       given_request_id(x.request())));
    return {};
  }
  reply(context, x, endpoint::shadow, http_status::ok, json_type, board->to_json());
  return {};
}

}  // namespace rankd::detail
