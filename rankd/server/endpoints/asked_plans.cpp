// rankd/server/endpoints/asked_plans.cpp: finds the plans that the path and the query of a request name.
#include <rankd/server/detail/asked_plans.hpp>

#include <rankd/registry/names.hpp>
#include <rankd/server/detail/routes.hpp>
#include <rankd/server/studio/draft_plans.hpp>

#include <braid/base/detail/number_in.hpp>
#include <braid/net/http_client.hpp>

#include <string>
#include <utility>
#include <vector>

namespace rankd::detail {
namespace {

using braid::http_status;

/// Returns the HTTP status for a refused change: 404 if the plan or version does not exist, 409 if there is no earlier
/// version, and otherwise 422.
auto status_of_change(const braid::diagnostics& problems) -> http_status {
  const std::string& code = problems.front().code;
  if (code == "unknown_plan" || code == "unknown_version") return http_status::not_found;
  return code == "no_earlier_version" ? http_status::conflict : http_status::unprocessable_content;
}

}  // namespace

auto version_number(std::string_view text) -> std::optional<std::uint64_t> {
  if (text.starts_with('0')) return std::nullopt;
  return braid::detail::number_in<std::uint64_t>(text);
}

auto unknown_plan(const endpoint_context& context, std::string_view name, std::string_view pointer,
                  std::string_view request_id) -> error_answer {
  const std::vector<known_plan> all = context.serving().plans->list();
  std::vector<std::string_view> names;
  for (const known_plan& each : all) names.emplace_back(each.name);
  std::string hint = braid::did_you_mean(name, names);
  if (hint.empty()) hint = "GET /v1/plans lists the plans of this server";
  return answer_error(http_status::not_found,
                      braid::diagnostics({.code = "unknown_plan",
                                          .pointer = std::string(pointer),
                                          .message = "no plan is called " + quote_name(std::string(name)),
                                          .hint = std::move(hint),
                                          .node = {},
                                          .source = "request"}),
                      request_id);
}

void refuse_version(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, std::string_view number) {
  reply(context, x, endpoint,
        answer_error(http_status::not_found, "unknown_version", "`" + std::string(number) + "` is not a version number",
                     given_request_id(x.request())));
}

void refuse_change(endpoint_context& context, braid::http_exchange& x, endpoint endpoint,
                   const braid::diagnostics& problems) {
  reply(context, x, endpoint, answer_error(status_of_change(problems), problems, given_request_id(x.request())));
}

auto asked_plan(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, std::string_view name,
                std::string_view field) -> plan_handle {
  const std::string_view id = given_request_id(x.request());
  if (const auto version = braid::http_url::query_value(x.request().query, field)) {
    const auto number = version_number(*version);
    if (!number) {
      refuse_version(context, x, endpoint, *version);
      return nullptr;
    }
    auto kept = context.serving().plans->find(name, *number);
    if (kept) return std::move(*kept);
    refuse_change(context, x, endpoint, kept.error());
    return nullptr;
  }
  auto found = context.serving().plans->find(name);
  if (!found)
    reply(context, x, endpoint, unknown_plan(context, name, {}, id));
  else if (!found->bound)
    reply(context, x, endpoint, answer_left_out(found->name, found->problems, id));
  return found ? std::move(found->bound) : nullptr;
}

auto asked_pair(endpoint_context& context, braid::http_exchange& x, endpoint endpoint) -> std::optional<plan_pair> {
  const std::string name(x.value("name"));
  plan_pair out;
  out.before = asked_plan(context, x, endpoint, name, "version");
  if (out.before == nullptr) return std::nullopt;
  const std::string with = braid::http_url::query_value(x.request().query, "with").value_or(name);
  const bool is_draft =
      context.serving().drafts != nullptr && braid::http_url::query_value(x.request().query, "with_draft");
  out.after =
      is_draft ? asked_draft(context, x, endpoint, with) : asked_plan(context, x, endpoint, with, "with_version");
  if (out.after == nullptr) return std::nullopt;
  if (endpoint == endpoint::diff || out.before->declared == out.after->declared) return out;
  // Both plans must have the same registries, because the request is parsed only once, and its params are in the order
  // of one registry.
  reply(context, x, endpoint,
        answer_error(http_status::conflict, "registries_differ",
                     "these versions are bound to different registries, so one request cannot run on both; "
                     "/v1/plans/NAME/diff compares their structure",
                     given_request_id(x.request())));
  return std::nullopt;
}

}  // namespace rankd::detail
