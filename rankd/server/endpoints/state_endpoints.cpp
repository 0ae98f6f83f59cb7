// rankd/server/endpoints/state_endpoints.cpp: implements the endpoints about the server itself: health, readiness,
// limits, the OpenAPI description, the plan page, and the results of candidate plans.
#include <rankd/server/detail/handlers.hpp>

#include <rankd/registry/json_members.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/endpoints/openapi.hpp>
#include <rankd/server/studio/page.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rankd::detail {
namespace {

using braid::http_status;

/// Returns why the artifact of a plan was left out, without paths of files, because every client may read the returned
/// text.
auto left_out_json(const known_plan& plan) -> std::string {
  std::string out = "{";
  append_json_member(out, "plan", plan.name);
  out += plan.bound ? ",\"serves_earlier\":true" : ",\"serves_earlier\":false";
  append_json_member(out, "code", plan.problems.front().code);
  append_json_member(out, "message", plan.problems.front().message);
  return out + "}";
}

/// The state of one check in an answer about health or readiness.
enum class check_state : std::uint8_t {
  ok,
  failed,     ///< the server is not ready
  warning,    ///< something is wrong that does not make this replica unready
  unchecked,  ///< nothing is known, on purpose
};

constexpr std::array<std::string_view, 4> check_state_names{"ok", "failed", "warning", "unchecked"};

/// The checks of an answer, and the error for the first check that has failed.
class check_list {
 public:
  /// Adds a check. `members` contains further JSON members of the check, such as `,"endpoint":"ep_0001"`, or is empty.
  void add(std::string_view name, check_state state, std::string_view message, std::string_view members = {}) {
    if (!text_.empty()) text_ += ',';
    text_ += '{';
    append_json_member(text_, "name", name);
    text_ += members;
    append_json_member(text_, "state", check_state_names[static_cast<std::size_t>(state)]);
    append_json_member(text_, "message", message);
    text_ += '}';
  }

  /// Adds a check that has failed. The first failed check determines the error of the answer.
  void add_failure(std::string_view name, std::string code, std::string_view message, std::string_view members = {}) {
    add(name, check_state::failed, message, members);
    if (!error_) error_ = answer_error(http_status::service_unavailable, std::move(code), message);
  }

  [[nodiscard]] auto error() const -> const std::optional<error_answer>& { return error_; }
  [[nodiscard]] auto member() const -> std::string { return ",\"checks\":[" + text_ + "]"; }

 private:
  std::string text_;
  std::optional<error_answer> error_;
};

/// Checks the stores. A damaged embedded store makes this replica unready, because other replicas are not damaged.
/// Stores on other machines are not contacted, because a failure of such a store would affect all replicas.
void check_stores(const endpoint_context& context, check_list& out) {
  const auto& declared = context.serving().declared->endpoints();
  for (std::size_t at = 0; at < context.stores.size(); ++at) {
    if (!context.stores[at]) continue;
    std::string members;
    append_json_member(members, "endpoint", declared[at].endpoint_id);
    const std::uint64_t generation = context.stores[at]->generation();
    if (generation != 0) members += ",\"generation\":" + std::to_string(generation);
    if (const std::string damage = context.stores[at]->damage(); !damage.empty())
      out.add_failure("store", "store_corrupt", "endpoint `" + declared[at].endpoint_id + "`: " + damage, members);
    else if (generation == 0)
      out.add("store", check_state::unchecked, "not checked, because all replicas share this server", members);
    else
      out.add("store", check_state::ok, "no damage was found in the embedded store", members);
  }
}

/// Checks the plans. Plans that were left out do not make the replica unready. All replicas have the same plans, so if
/// such plans made one replica unready, the whole service would stop. Returns a JSON member that describes the plans
/// that were left out, or an empty text if there are none.
auto check_plans(const endpoint_context& context, check_list& out) -> std::string {
  std::string left_out;
  std::size_t wrong = 0;
  const auto plans = context.serving().plans->list();
  for (const known_plan& each : plans) {
    if (each.problems.empty()) continue;
    left_out += (wrong++ == 0 ? "" : ",") + left_out_json(each);
  }
  const std::string all = std::to_string(plans.size());
  if (wrong == 0) {
    out.add("plans", check_state::ok, "the newest artifact of each plan is served (plans: " + all + ")");
    return {};
  }
  out.add("plans", check_state::warning,
          "plans left out because their newest artifact is invalid: " + std::to_string(wrong) + " of " + all +
              "; `left_out` lists them");
  return ",\"left_out\":[" + left_out + "]";
}

void check_stopping(const endpoint_context& context, check_list& out) {
  if (const bool stops = context.shared->stopping.load(braid::relaxed); stops)
    out.add_failure("stopping", "stopping", "the server is shutting down");
  else
    out.add("stopping", check_state::ok, "the server is not shutting down");
}

auto find_page_file(std::string_view path) -> const page_file& {
  return *std::ranges::find(page_files(), path, &page_file::path);
}

}  // namespace

auto is_ready(const endpoint_context& context) -> bool {
  check_list checks;
  check_stopping(context, checks);
  check_stores(context, checks);
  return !checks.error();
}

auto answer_health(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  check_list checks;
  checks.add("loop", check_state::ok, "the thread that serves this connection responds");
  reply(context, x, endpoint::health, http_status::ok, json_type, "{\"status\":\"ok\"" + checks.member() + "}\n");
  return {};
}

auto answer_ready(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  check_list checks;
  check_stopping(context, checks);
  if (checks.error()) static_cast<void>(x.set_field("Retry-After", "1"));
  check_stores(context, checks);
  const std::string left_out = check_plans(context, checks);
  if (checks.error()) {
    error_answer answer = *checks.error();
    answer.body.resize(answer.body.size() - std::string_view("}\n").size());
    answer.body += ",\"status\":\"not_ready\"" + checks.member() + left_out + "}\n";
    reply(context, x, endpoint::ready, answer);
    return {};
  }
  reply(context, x, endpoint::ready, http_status::ok, json_type,
        "{\"status\":\"ready\"" + checks.member() + left_out + "}\n");
  return {};
}

/// Answers with the limits that a client must know in order to choose the size of its calls.
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

/// Sends a file of the plan page. No token is needed: the files contain nothing about this server, and requests from
/// the page need a token if the server has tokens.
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
                       "no candidate is declared for a plan called " + quote_name(x.value("name")),
                       given_request_id(x.request())));
    return {};
  }
  reply(context, x, endpoint::shadow, http_status::ok, json_type, board->to_json());
  return {};
}

}  // namespace rankd::detail
