// rankd/server/endpoints/routes.cpp: defines the table of endpoints, with the method, path, access, limit and handler
// of each endpoint.
#include <rankd/server/detail/routes.hpp>

#include <rankd/server/studio/page.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace rankd::detail {
namespace {

using method = braid::http_method;

auto has_page(const serve_shared& shared) -> bool { return shared.options.shows_page; }

auto has_drafts(const serve_shared& shared) -> bool { return has_page(shared) && shared.context.drafts != nullptr; }

auto has_traffic(const serve_shared& shared) -> bool {
  return has_page(shared) && !shared.context.traffic_places.empty();
}

auto has_versions(const serve_shared& shared) -> bool { return shared.context.changes != nullptr; }

auto may_change_plans(const serve_shared& shared) -> bool {
  return has_versions(shared) && shared.options.clients_change_plans;
}

/// A condition under which a server has certain endpoints, and how to start a server that fulfils this condition.
struct endpoint_switch {
  bool (*is_on)(const serve_shared& shared);
  std::string_view how;
};

constexpr endpoint_switch switches[] = {
    {has_page, "`rankd serve` with --ui, or `rankd studio`"},
    {has_drafts, "`rankd studio` in a project with the compiler dslc"},
    {has_traffic, "`rankd studio` with --traffic FILE"},
    {may_change_plans, "`rankd serve` with --allow-changes and --token-file FILE"},
};

/// Returns whether a path without a query has the form of a route such as `/v1/plans/{name}/versions`.
auto has_form(std::string_view path, std::string_view form) -> bool {
  const auto next_segment = [](std::string_view& text) {
    const std::string_view segment = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(text.size(), segment.size() + 1));
    return segment;
  };
  while (!path.empty() && !form.empty()) {
    const std::string_view expected = next_segment(form);
    const std::string_view got = next_segment(path);
    if (expected.starts_with('{') ? got.empty() : got != expected) return false;
  }
  return path.empty() && form.empty();
}

constexpr route_limit trace_limit{name_of(endpoint::trace), 1};  // a trace is in memory as a whole
constexpr route_limit answers_limit{name_of(endpoint::diff_answers), 4};
constexpr route_limit traffic_limit{name_of(endpoint::diff_traffic), 1};
constexpr route_limit records_limit{name_of(endpoint::records), 16};  // each call takes a thread until it is written
constexpr route_limit watch_limit{name_of(endpoint::grpc_health_watch), 1000};  // each call lasts until the stop
constexpr route_limit compiler_limit{"drafts", 4};  // the compiler answers one question at a time

constexpr route table[] = {
    {endpoint::plans, method::get, access::token, answer_plans},
    {endpoint::plan, method::get, access::token, answer_plan},
    {endpoint::metrics, method::get, access::token, answer_metrics},
    {endpoint::limits, method::get, access::token, answer_limits},
    {endpoint::tasks, method::get, access::token, answer_tasks},
    {endpoint::trace, method::get, access::token, answer_trace, nullptr, trace_limit},
    {endpoint::rank, method::post, access::head, answer_rank},
    {endpoint::batch, method::post, access::head, answer_batch},
    {endpoint::shadow, method::get, access::see_shadows, answer_shadow},
    {endpoint::events, method::post, access::head, answer_events},
    {endpoint::records, method::post, access::head, answer_records, nullptr, records_limit},
    {endpoint::diff, method::get, access::token, answer_diff},
    {endpoint::versions, method::get, access::token, answer_versions, has_versions},
    {endpoint::pin, method::post, access::edit, answer_pin, may_change_plans},
    {endpoint::unpin, method::post, access::edit, answer_unpin, may_change_plans},
    {endpoint::roll_back, method::post, access::edit, answer_rollback, may_change_plans},
    {endpoint::reload, method::post, access::edit, answer_reload, may_change_plans},
    {endpoint::diff_answers, method::post, access::token, answer_diff_answers, has_page, answers_limit},
    {endpoint::traffic, method::get, access::see_traffic, answer_traffic, has_traffic},
    {endpoint::diff_traffic, method::get, access::see_traffic, answer_diff_traffic, has_traffic, traffic_limit},
    {endpoint::source, method::get, access::edit, answer_source, has_drafts, compiler_limit},
    {endpoint::source, method::post, access::edit, answer_save, has_drafts, compiler_limit},
    {endpoint::draft, method::post, access::edit, answer_draft, has_drafts, compiler_limit},
    {endpoint::completions, method::post, access::edit, answer_completions, has_drafts, compiler_limit},
    {endpoint::option, method::post, access::edit, answer_option, has_drafts, compiler_limit},
    {endpoint::project, method::get, access::edit, answer_project, has_drafts, compiler_limit},
    {endpoint::grpc_rank, method::post, access::head, answer_grpc_rank},
    {endpoint::grpc_batch, method::post, access::head, answer_grpc_batch},
    {endpoint::grpc_events, method::post, access::head, answer_grpc_events},
    {endpoint::grpc_health_check, method::post, access::everyone, answer_grpc_health_check},
    {endpoint::grpc_health_watch, method::post, access::everyone, answer_grpc_health_watch, nullptr, watch_limit},
    {endpoint::grpc_reflection, method::post, access::everyone, answer_grpc_reflection},
    {endpoint::grpc_reflection_alpha, method::post, access::everyone, answer_grpc_reflection_alpha},
    {endpoint::grpc_other, method::post, access::head, answer_grpc_other},
    {endpoint::page, method::get, access::everyone, answer_compiler_script, has_drafts, {}, "/ui/compiler.js"},
    {endpoint::health, method::get, access::everyone, answer_health},
    {endpoint::ready, method::get, access::everyone, answer_ready},
    {endpoint::openapi, method::get, access::everyone, answer_openapi},
};

/// Returns the table of endpoints with an additional row for each file of the plan page.
auto with_page_files() -> std::vector<route> {
  std::vector<route> out(std::begin(table), std::end(table));
  for (const page_file& file : page_files())
    out.push_back({endpoint::page, method::get, access::everyone, answer_page, has_page, {}, file.path});
  return out;
}

/// A right of a client, and the error for clients that lack it.
struct right {
  access needs;
  bool token_client::* has;
  std::string_view code;
  std::string_view message;
};

constexpr right rights[] = {
    {access::edit, &token_client::may_edit, "edit_forbidden",
     "only a client whose token has the right `edit` may edit plans and change the served versions"},
    {access::see_shadows, &token_client::may_see_shadows, "shadow_forbidden",
     "only a client whose token has the right `shadow` may see the results of candidates"},
    {access::see_traffic, &token_client::may_see_shadows, "traffic_forbidden",
     "only a client whose token has the right `shadow` may see recorded traffic"},
};

}  // namespace

auto all_routes() -> std::span<const route> {
  static const std::vector<route> all = with_page_files();
  return all;
}

auto find_switch(const serve_shared& shared, std::string_view target) -> std::string_view {
  const std::string_view path = target.substr(0, target.find('?'));
  for (const route& each : all_routes()) {
    if (each.is_served == nullptr || each.is_served(shared) || !has_form(path, each.path)) continue;
    const auto* const found = std::ranges::find(switches, each.is_served, &endpoint_switch::is_on);
    if (found != std::end(switches)) return found->how;
  }
  return {};
}

auto has_access(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, access needs) -> bool {
  if (needs == access::everyone || needs == access::head) return true;
  const std::string_view id = given_request_id(x.request());
  const auto client = find_client(context, x);
  if (!client) {
    static_cast<void>(x.set_field("WWW-Authenticate", "Bearer"));
    reply(context, x, endpoint,
          answer_error(braid::http_status::unauthorized, "unauthorized",
                       "this request needs a valid bearer token of this server", id));
    return false;
  }
  const auto* const right = std::ranges::find(rights, needs, &right::needs);
  if (right == std::end(rights) || context.tokens == nullptr || (*client).*(right->has)) return true;
  reply(context, x, endpoint,
        answer_error(braid::http_status::forbidden, std::string(right->code), right->message, id));
  return false;
}

auto enter_route(endpoint_context& context, endpoint endpoint) -> std::optional<in_flight_shares::pass> {
  const auto* const found = std::ranges::find(table, endpoint, &route::which);
  return context.shared->of_routes.try_enter(found->limit.name, found->limit.at_a_time);
}

}  // namespace rankd::detail
