// rankd/server/endpoints/plan_endpoints.cpp: GET /v1/plans and /v1/plans/{name}: lists the plans of a server, and
// describes a single plan.
#include <rankd/server/detail/handlers.hpp>

#include <rankd/engine/plans/plan_graph.hpp>
#include <rankd/registry/json_members.hpp>
#include <rankd/registry/names.hpp>

#include <braid/coro/offload.hpp>
#include <braid/net/http_client.hpp>

#include <string>
#include <utility>
#include <vector>

namespace rankd::detail {
namespace {

using braid::http_status;

/// Returns the JSON members that describe a plan, without the closing brace.
auto plan_start(const known_plan& plan) -> std::string {
  std::string out = "{";
  append_json_member(out, "plan", plan.name);
  out += plan.bound ? ",\"runnable\":true" : ",\"runnable\":false";
  if (plan.bound) append_json_member(out, "digest", plan.bound->digest);
  return out;
}

auto listed(const known_plan& plan) -> std::string {
  std::string out = plan_start(plan);
  if (plan.bound) out += ",\"nodes\":" + std::to_string(plan.bound->nodes.size());
  if (!plan.problems.empty()) {
    append_json_member(out, "code", plan.problems.front().code);
    append_json_member(out, "message", plan.problems.front().message);
  }
  return out + "}";
}

auto node_json(const bound_plan& plan, const bound_node& node) -> std::string {
  std::string out = "{";
  append_json_member(out, "node", node.node_id);
  append_json_member(out, "op", node.op_name);
  std::vector<std::string> inputs;
  for (const node_index source : node.sources) inputs.push_back(plan.nodes[source].node_id);
  out += ",\"inputs\":";
  append_json_strings(out, inputs);
  if (!node.place.empty()) append_json_member(out, "place", node.place);
  return out + "}";
}

void append_budget(std::string& out, const plan_budget& budget) {
  if (budget == plan_budget()) return;
  out += ",\"budget\":{";
  for (const budget_line& line : list_lines(budget))
    append_json_member(out, line.name, static_cast<std::int64_t>(line.value));
  out += '}';
}

auto described(const known_plan& plan) -> std::string {
  std::string out = plan_start(plan) + ",\"nodes\":";
  append_json_list(out, plan.bound->nodes,
                   [&](std::string& to, const bound_node& node) { to += node_json(*plan.bound, node); });
  out += ",\"outputs\":";
  std::vector<std::string> outputs;
  for (const node_index node : plan.bound->outputs) outputs.push_back(plan.bound->nodes[node].node_id);
  append_json_strings(out, outputs);
  append_budget(out, plan.bound->budget);
  return out + "}\n";
}

/// Lists the optional features of the server that the plan page may offer to this client.
auto offers_to(const endpoint_context& context, const token_client& client) -> std::vector<std::string> {
  std::vector<std::string> out;
  const bool may_see = client.may_see_shadows || context.tokens == nullptr;
  if (!context.serving().traffic_places.empty() && may_see) out.emplace_back("traffic");
  if (context.serving().drafts != nullptr && (client.may_edit || context.tokens == nullptr)) out.emplace_back("drafts");
  return out;
}

}  // namespace

auto answer_plans(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  std::string out = "{\"plans\":";
  append_json_list(out, context.serving().plans->list(),
                   [](std::string& to, const known_plan& each) { to += listed(each); });
  if (context.options().shows_page) {
    out += ",\"offers\":";
    append_json_strings(out, offers_to(context, *find_client(context, x)));
  }
  reply(context, x, endpoint::plans, http_status::ok, json_type, out + "}\n");
  return {};
}

auto answer_plan(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const std::string_view id = given_request_id(x.request());
  const auto form = braid::http_url::query_value(x.request().query, "form");
  if (form && *form != "full")
    co_return reply(context, x, endpoint::plan,
                    answer_error(http_status::bad_request, "bad_form",
                                 "unknown form " + quote_name(*form) + "; expected `full`", id));
  const plan_handle found = asked_plan(context, x, endpoint::plan, x.value("name"), "version");
  if (found == nullptr) co_return;
  if (!form)
    co_return reply(context, x, endpoint::plan, http_status::ok, json_type,
                    described({.name = found->name, .bound = found, .problems = {}}));
  // Writes the graph on a thread, so that the loop can rank in the meantime. A plan may have 10 000 nodes.
  const auto print = [bound = found] { return graph_json(make_graph(*bound, *bound->declared)); };
  auto printing = braid::offload(context.runtime->blocking(), print);
  const std::string text = co_await std::move(printing);
  reply(context, x, endpoint::plan, http_status::ok, json_type, text);
}

}  // namespace rankd::detail
