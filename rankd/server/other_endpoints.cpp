// rankd/server/other_endpoints.cpp: plans, health, readiness, figures, tasks.
#include <rankd/server/detail/shard.hpp>

#include <rankd/engine/plan_graph.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/detail/write_histogram.hpp>

#include <braid/coro/dump.hpp>
#include <braid/coro/offload.hpp>
#include <braid/net/http_client.hpp>
#include <braid/runtime/default_runtime.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

namespace rankd::detail {
namespace {

using kind = exposition::kind;

using braid::http_status;

void write_span_counts(exposition& out, const span_counts& counts) {
  out.family("rankd_spans_exported_total", kind::counter, "Spans that the collector has taken.");
  out.sample({}, static_cast<double>(counts.exported));
  out.family("rankd_spans_dropped_total", kind::counter, "Spans that did not come to the collector, by the reason.");
  out.sample({{"reason", "queue_full"}}, static_cast<double>(counts.dropped));
  out.sample({{"reason", "not_taken"}}, static_cast<double>(counts.failed));
  out.family("rankd_spans_queued", kind::gauge, "Spans that wait for the collector.");
  out.sample({}, static_cast<double>(counts.queued));
}

void append_strings(std::string& out, const std::vector<std::string>& all) {
  out += '[';
  for (const std::string& each : all) {
    if (!out.ends_with('[')) out += ',';
    append_json_string(out, each);
  }
  out += ']';
}

void append_member(std::string& out, std::string_view name, std::string_view text) {
  if (!out.ends_with('{')) out += ',';
  append_json_string(out, name);
  out += ':';
  append_json_string(out, text);
}

/// The members of a plan, without the closing brace.
auto plan_start(const known_plan& plan) -> std::string {
  std::string out = "{";
  append_member(out, "plan", plan.name);
  out += plan.bound ? ",\"runnable\":true" : ",\"runnable\":false";
  if (plan.bound) append_member(out, "digest", plan.bound->digest);
  return out;
}

auto listed(const known_plan& plan) -> std::string {
  std::string out = plan_start(plan);
  if (plan.bound) out += ",\"nodes\":" + std::to_string(plan.bound->nodes.size());
  if (!plan.problems.empty()) {
    append_member(out, "code", plan.problems.front().code);
    append_member(out, "message", plan.problems.front().message);
  }
  return out + "}";
}

/// Why the artifact of a plan was left out, for all clients: without the places of files.
auto left_out_json(const known_plan& plan) -> std::string {
  std::string out = "{";
  append_member(out, "plan", plan.name);
  out += plan.bound ? ",\"serves_earlier\":true" : ",\"serves_earlier\":false";
  append_member(out, "code", plan.problems.front().code);
  append_member(out, "message", plan.problems.front().message);
  return out + "}";
}

auto node_json(const bound_plan& plan, const bound_node& node) -> std::string {
  std::string out = "{";
  append_member(out, "node", node.node_id);
  append_member(out, "op", node.op_name);
  std::vector<std::string> inputs;
  for (const node_index source : node.sources) inputs.push_back(plan.nodes[source].node_id);
  out += ",\"inputs\":";
  append_strings(out, inputs);
  if (!node.place.empty()) append_member(out, "place", node.place);
  return out + "}";
}

void append_budget(std::string& out, const plan_budget& budget) {
  if (budget == plan_budget()) return;
  out += ",\"budget\":{";
  for (const budget_line& line : lines_of(budget)) {
    if (!out.ends_with('{')) out += ',';
    append_json_string(out, line.name);
    out += ':' + std::to_string(line.value);
  }
  out += '}';
}

auto described(const known_plan& plan) -> std::string {
  std::string out = plan_start(plan) + ",\"nodes\":[";
  for (const bound_node& node : plan.bound->nodes) {
    if (!out.ends_with('[')) out += ',';
    out += node_json(*plan.bound, node);
  }
  out += "],\"outputs\":";
  std::vector<std::string> outputs;
  for (const node_index node : plan.bound->outputs) outputs.push_back(plan.bound->nodes[node].node_id);
  append_strings(out, outputs);
  append_budget(out, plan.bound->budget);
  return out + "}\n";
}

}  // namespace

void shard::reply(braid::http_exchange& x, endpoint which, http_status status, std::string_view type,
                  std::string_view body) {
  metrics_.count_answer(which, status);
  x.reply(status, type, body);
}

void shard::reply(braid::http_exchange& x, endpoint which, const error_answer& error) {
  reply(x, which, error.status, json_type, error.body);
}

/// Of a name that no plan has, with the nearest one that a plan has.
auto shard::unknown_plan(std::string_view name, std::string_view pointer, std::string_view request_id) const
    -> error_answer {
  const std::vector<known_plan> all = all_->context.plans->list();
  std::vector<std::string_view> names;
  for (const known_plan& each : all) names.emplace_back(each.name);
  std::string hint = braid::did_you_mean(name, names);
  if (hint.empty()) hint = "GET /v1/plans lists those that are there";
  return answer_error(http_status::not_found,
                      braid::diagnostics({.code = "unknown_plan",
                                          .pointer = std::string(pointer),
                                          .message = "no plan is called " + quote_name(std::string(name)),
                                          .hint = std::move(hint),
                                          .node = {},
                                          .source = "request"}),
                      request_id);
}

/// The client, which has no name where there are no tokens; nothing where there are some and it has none of them.
auto shard::client_of(braid::http_exchange& x) const -> std::optional<token_client> {
  if (!tokens_) return token_client();
  const auto field = x.request().fields.find("Authorization");
  // Two of them might be two clients.
  if (!field || x.request().fields.count("Authorization") != 1) return std::nullopt;
  return tokens_->client_of(*field);
}

auto shard::may_ask(braid::http_exchange& x, endpoint which) -> bool {
  if (client_of(x)) return true;
  static_cast<void>(x.set_field("WWW-Authenticate", "Bearer"));
  reply(x, which,
        answer_error(http_status::unauthorized, "unauthorized", "this needs a bearer token that the server knows",
                     given_request_id(x.request())));
  return false;
}

void shard::plans(braid::http_exchange& x) {
  if (!may_ask(x, endpoint::plans)) return;
  std::string out = "{\"plans\":[";
  const std::vector<known_plan> all = all_->context.plans->list();
  for (const known_plan& each : all) out += (out.ends_with('[') ? "" : ",") + listed(each);
  out += ']';
  if (all_->options.shows_page) {
    out += ",\"offers\":";
    append_strings(out, offers_to(*client_of(x)));
  }
  reply(x, endpoint::plans, http_status::ok, json_type, out + "}\n");
}

auto shard::plan(braid::http_exchange& x) -> braid::task<void> {
  if (!may_ask(x, endpoint::plan)) co_return;
  const std::string_view id = given_request_id(x.request());
  const auto form = braid::http_url::query_value(x.request().query, "form");
  if (form && *form != "full")
    co_return reply(x, endpoint::plan,
                    answer_error(http_status::bad_request, "bad_form",
                                 "there is no form " + quote_name(*form) + "; `full` is the only one", id));
  const plan_handle found = asked_plan(x, endpoint::plan, x.value("name"), "version");
  if (found == nullptr) co_return;
  if (!form)
    co_return reply(x, endpoint::plan, http_status::ok, json_type,
                    described({.name = found->name, .bound = found, .problems = {}}));
  // A plan may have 10 000 nodes: the loop ranks meanwhile.
  const auto print = [bound = found] { return graph_json(graph_of(*bound, *bound->declared)); };
  auto printing = braid::offload(on_->blocking(), print);
  const std::string text = co_await std::move(printing);
  reply(x, endpoint::plan, http_status::ok, json_type, text);
}

void shard::health(braid::http_exchange& x) {
  reply(x, endpoint::health, http_status::ok, json_type, "{\"status\":\"ok\"}\n");
}

void shard::ready(braid::http_exchange& x) {
  if (all_->stopping.load(braid::relaxed)) {
    static_cast<void>(x.set_field("Retry-After", "1"));
    return reply(x, endpoint::ready,
                 answer_error(http_status::service_unavailable, "stopping", "the server is about to stop"));
  }
  // Of this replica alone, unlike a server that does not answer.
  if (const std::string damage = store_damage(); !damage.empty())
    return reply(x, endpoint::ready, answer_error(http_status::service_unavailable, "store_corrupt", damage));
  // All replicas have the same plans: to refuse requests for those that are right would end the service.
  std::string left_out;
  for (const known_plan& each : all_->context.plans->list())
    if (!each.problems.empty()) left_out += (left_out.empty() ? "" : ",") + left_out_json(each);
  const std::string more = left_out.empty() ? "" : ",\"left_out\":[" + left_out + "]";
  reply(x, endpoint::ready, http_status::ok, json_type, "{\"status\":\"ready\"" + more + "}\n");
}

/// Of the first store that has any; empty where none has.
auto shard::store_damage() const -> std::string {
  for (std::size_t at = 0; at < stores_.size(); ++at) {
    if (!stores_[at]) continue;
    if (const std::string damage = stores_[at]->damage(); !damage.empty())
      return "endpoint `" + all_->context.declared->endpoints()[at].endpoint_id + "`: " + damage;
  }
  return {};
}

void shard::write_scrub(exposition& out) const {
  if (all_->context.scrubber == nullptr) return;
  const std::vector<scrub_counts> all = all_->context.scrubber->counts();
  out.family("rankd_store_scrubbed_bytes_total", kind::counter, "Bytes of stores that were read again and compared.");
  for (const auto& each : all) out.sample({{"endpoint", each.endpoint_id}}, static_cast<double>(each.bytes));
  out.family("rankd_store_scrub_rounds_total", kind::counter, "Complete passes over a store.");
  for (const auto& each : all) out.sample({{"endpoint", each.endpoint_id}}, static_cast<double>(each.rounds));
  out.family("rankd_store_damaged", kind::gauge, "1 where the store is damaged, and answers no request.");
  for (const auto& each : all) out.sample({{"endpoint", each.endpoint_id}}, each.is_damaged ? 1.0 : 0.0);
}

namespace {

/// Of endpoints with nodes whose reads may be sent a second time.
void write_hedges(exposition& out, std::vector<std::pair<std::string_view, read_counts>> of) {
  std::erase_if(of, [](const auto& each) { return each.second.hedged + each.second.unhedged == 0; });
  if (of.empty()) return;
  out.family("rankd_store_hedges_total", exposition::kind::counter, "Reads without an answer when a plan hedges them.");
  for (const auto& [name, sum] : of) {
    const auto sample = [&](std::string_view result, std::uint64_t count) {
      out.sample({{"endpoint", name}, {"result", result}}, static_cast<double>(count));
    };
    sample("won", sum.won);
    sample("lost", sum.hedged - sum.won);
    sample("refused", sum.unhedged);
  }
}

}  // namespace

void shard::write_endpoints(exposition& out) const {
  std::vector<std::pair<std::string_view, endpoint_metrics>> all;
  std::vector<std::pair<std::string_view, read_counts>> reads;  // of endpoints whose reads are shared
  for (std::size_t at = 0; at < stores_.size(); ++at) {
    if (!stores_[at]) continue;
    auto& [name, sum] = all.emplace_back(all_->context.declared->endpoints()[at].endpoint_id, endpoint_metrics());
    for (const auto& each : all_->shards) sum.add(each->stores()[at]->metrics());
    if (stores_[at]->answers_at_once() || !is_store(all_->context.declared->endpoints()[at])) continue;
    auto& [same_name, counts] = reads.emplace_back(name, read_counts());
    for (const auto& each : all_->shards) {
      counts.add(each->reads_of(at));
    }
  }
  out.family("rankd_endpoint_duration_seconds", kind::histogram, "Time from a call of an endpoint to its answer.");
  for (const auto& [name, sum] : all) write_histogram(out, {{"endpoint", name}}, sum.times);
  out.family("rankd_endpoint_errors_total", kind::counter, "Answers of endpoints that were errors.");
  for (const auto& [name, sum] : all) out.sample({{"endpoint", name}}, static_cast<double>(sum.errors));
  out.family("rankd_endpoint_late_total", kind::counter, "Calls of endpoints that ended too late for their requests.");
  for (const auto& [name, sum] : all) out.sample({{"endpoint", name}}, static_cast<double>(sum.late));
  out.family("rankd_endpoint_in_flight", kind::gauge, "Calls that an endpoint has not answered yet.");
  for (const auto& [name, sum] : all) out.sample({{"endpoint", name}}, static_cast<double>(sum.in_flight));
  if (reads.empty()) return;
  out.family("rankd_store_reads_total", kind::counter, "Reads that nodes asked of a store, shared ones included.");
  for (const auto& [name, sum] : reads) out.sample({{"endpoint", name}}, static_cast<double>(sum.asked));
  out.family("rankd_store_reads_shared_total", kind::counter, "Reads that had the answer of an equal one.");
  for (const auto& [name, sum] : reads) out.sample({{"endpoint", name}}, static_cast<double>(sum.shared));
  write_hedges(out, reads);
}

/// Of the loops, workers and threads of all shards.
void shard::write_runtimes(exposition& out) const {
  std::vector<braid::metric> all;
  std::vector<braid::runtime*> runtimes;
  for (const auto& each : all_->shards) runtimes.push_back(&each->runs_on());
  if (const auto* candidates = all_->candidates()) runtimes.push_back(candidates->runs_on.get());
  for (braid::runtime* const each : runtimes) {
    std::vector<braid::metric> more = braid::metrics(*each);
    // The memory of jobs is that of the process.
    if (!all.empty()) std::erase_if(more, [](const braid::metric& one) { return one.labels.empty(); });
    std::ranges::move(more, std::back_inserter(all));
  }
  out.add(all);
}

void shard::answer_metrics(braid::http_exchange& x) {
  if (!may_ask(x, endpoint::metrics)) return;
  metrics_.note_gate(gate_.counts(), unread());
  std::vector<serve_metrics*> loops;
  double late = 0;
  for (const auto& each : all_->shards) {
    loops.push_back(&each->metrics());
    late += static_cast<double>(each->late_nodes());
  }
  exposition out;
  serve_metrics::write(out, loops);
  const std::vector<known_plan> plans = all_->context.plans->list();
  serve_metrics::write_nodes(out, loops, plans);
  out.family("rankd_plans_left_out", exposition::kind::gauge, "Plans whose newest artifact is wrong.");
  out.sample({}, static_cast<double>(
                     std::ranges::count_if(plans, [](const known_plan& each) { return !each.problems.empty(); })));
  write_endpoints(out);
  write_scrub(out);
  write_cache(out);
  out.family("rankd_late_nodes_total", exposition::kind::counter, "Nodes that ended after their request was answered.");
  out.sample({}, late);
  out.family("rankd_log_lines_lost_total", exposition::kind::counter, "Lines of log and audit that were not written.");
  const line_file* const audit = all_->context.audit;
  out.sample({}, static_cast<double>(all_->context.log.lost() + (audit != nullptr ? audit->lost() : 0)));
  if (all_->context.spans != nullptr) write_span_counts(out, all_->context.spans->counts());
  write_traffic(out);
  shadow_board::write(out, *all_->shadows.all());
  write_lines(out);
  write_reopenings(out);
  write_events(out);
  if (all_->context.changes != nullptr) {
    const reload_counts reloads = all_->context.changes->reloads();
    out.family("rankd_plan_reloads_total", exposition::kind::counter, "Reloads of all plans, by their result.");
    out.sample({{"result", "done"}}, static_cast<double>(reloads.done));
    out.sample({{"result", "refused"}}, static_cast<double>(reloads.refused));
  }
  write_runtimes(out);
  write_process_metrics(out);
  reply(x, endpoint::metrics, http_status::ok, exposition::media_type, out.text());
}

/// The loops answer, this one as well: so a thread waits that may.
auto shard::tasks(braid::http_exchange& x) -> braid::task<void> {
  if (!may_ask(x, endpoint::tasks)) co_return;
  auto asking = braid::offload(on_->blocking(), [] { return braid::dump().to_text(); });
  const std::string text = co_await std::move(asking);
  reply(x, endpoint::tasks, http_status::ok, "text/plain; charset=utf-8", text);
}

}  // namespace rankd::detail
