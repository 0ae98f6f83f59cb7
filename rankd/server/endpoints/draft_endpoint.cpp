// rankd/server/endpoints/draft_endpoint.cpp: implements the endpoints of the plan page that read, compile, complete and
// save the sources of plans.
#include <rankd/server/detail/handlers.hpp>
#include <rankd/server/detail/held_body.hpp>
#include <rankd/server/detail/routes.hpp>

#include <rankd/plan/json.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/server/studio/compiler_answer.hpp>
#include <rankd/server/studio/draft_plans.hpp>
#include <rankd/server/studio/page.hpp>

#include <braid/coro/offload.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

using braid::http_status;

/// An edited source of a plan, sent by a client.
struct edit {
  std::string text;
  std::string digest;
  std::size_t offset = 0;
  std::optional<std::string> artifact;
  option_change option;
};

enum class edit_fields : std::uint8_t { text_or_artifact, text_and_digest, text_and_offset, option };

/// Reads an offset into the text in UTF-16 units. The offset must not exceed the number of bytes of the text, because a
/// text never has more UTF-16 units than bytes.
auto read_offset(object_reader& reader, std::string_view field, const std::string& text) -> std::size_t {
  const auto offset =
      reader.integer(field, presence::required, {.min = 0, .max = static_cast<std::int64_t>(text.size())});
  return static_cast<std::size_t>(offset.value_or(0));
}

auto read_option(object_reader& reader, std::string text) -> option_change {
  option_change out;
  out.text = std::move(text);
  out.from = read_offset(reader, "from", out.text);
  out.to = read_offset(reader, "to", out.text);
  if (const auto* kind = reader.text("kind", presence::required)) out.kind = *kind;
  if (const auto* value = reader.text("value", presence::required)) out.value = *value;
  return out;
}

auto read_edit_text(std::string_view body, edit_fields fields) -> braid::checked<edit> {
  auto document = parse_json(body, "request");
  if (!document) return std::unexpected(document.error());
  const json_dismantler end(*document);
  braid::diagnostics problems;
  object_reader reader(*document, "", problems);
  edit out;
  if (fields == edit_fields::text_or_artifact)
    if (const auto* artifact = reader.text("artifact", presence::optional)) out.artifact = *artifact;
  if (!out.artifact)
    if (const auto* text = reader.text("text", presence::required)) out.text = *text;
  if (fields == edit_fields::text_and_digest)
    if (const auto* digest = reader.text("digest", presence::required)) out.digest = *digest;
  if (fields == edit_fields::text_and_offset) out.offset = read_offset(reader, "offset", out.text);
  if (fields == edit_fields::option) out.option = read_option(reader, std::move(out.text));
  reader.refuse_unknown_fields();
  if (problems.empty()) return out;
  problems.set_source("request");
  return std::unexpected(std::move(problems));
}

/// Returns why the saved plan is not served now, or an empty text if this plan is served.
auto unserved(const std::string& plan, const braid::checked<reload_report>& read, const plan_changes& plans)
    -> braid::diagnostics {
  if (!read) return read.error();
  braid::diagnostics out;
  for (const left_out_plan& each : read->left_out)
    if (each.name == plan) out.append(each.problems);
  for (const plan_version_info& each : plans.versions())
    if (each.name == plan && each.pinned)
      out.add({.code = "plan_pinned",
               .pointer = {},
               .message = quote_name(plan) + " is pinned to version " + std::to_string(each.number) +
                          ", so the saved version is not served",
               .hint = "unpin it with POST /v1/plans/NAME/unpin",
               .node = {},
               .source = {}});
  return out;
}

/// Adds diagnostics to the answer to a save request. These diagnostics have no position in the source.
auto with_findings(const std::string& saved, const braid::diagnostics& problems) -> std::string {
  if (problems.empty()) return saved;
  auto answer = compiler_answer::parse(saved);
  if (!answer) return saved;
  answer->add_diagnostics(problems);
  return answer->line();
}

auto status_of_edit(const braid::diagnostics& problems) -> http_status {
  const std::string& code = problems.front().code;
  if (code == "no_source") return http_status::not_found;
  if (code == "source_changed") return http_status::conflict;
  return code == "compiler_failed" ? http_status::bad_gateway : http_status::unprocessable_content;
}

/// Reads the body into `body`, and parses it. If that fails, answers the request and returns nothing.
auto read_edit(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, edit_fields fields,
               held_body& body) -> braid::task<std::optional<edit>> {
  const std::string_view id = given_request_id(x.request());
  std::optional<braid::result<void>> read = body.read_now(x);
  if (!read) read = co_await body.read(x);
  if (!*read) {
    reply(context, x, endpoint, unread_body(read->error(), context.options().http.limits, id));
    co_return std::nullopt;
  }
  auto parsed = read_edit_text(body.text(), fields);
  if (parsed) co_return std::move(*parsed);
  reply(context, x, endpoint, answer_error(http_status::bad_request, parsed.error(), id));
  co_return std::nullopt;
}

/// Waits for the compiler on a thread that may block, and answers with the compiler's result.
template <typename Ask>
auto ask_compiler(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, Ask ask) -> braid::task<void> {
  const std::string id(given_request_id(x.request()));
  const auto place = enter_route(context, endpoint);
  if (!place) {
    static_cast<void>(x.set_field("Retry-After", "1"));
    co_return reply(context, x, endpoint,
                    answer_error(http_status::too_many_requests, "compiler_busy",
                                 "the plan compiler is busy; try again later", id));
  }
  auto asking = braid::offload(context.runtime->blocking(), std::move(ask));
  const braid::checked<std::string> answer = co_await std::move(asking);
  if (!answer) co_return reply(context, x, endpoint, answer_error(status_of_edit(answer.error()), answer.error(), id));
  reply(context, x, endpoint, http_status::ok, json_type, *answer);
}

}  // namespace

auto asked_draft(endpoint_context& context, braid::http_exchange& x, endpoint endpoint, const std::string& name)
    -> plan_handle {
  if (!has_access(context, x, endpoint, access::edit)) return nullptr;
  plan_handle found = context.serving().drafts->find(name);
  if (found == nullptr)
    reply(context, x, endpoint,
          answer_error(http_status::not_found, "no_draft",
                       "no draft of " + quote_name(name) + " was compiled, or the text of the draft has errors",
                       given_request_id(x.request())));
  return found;
}

auto answer_source(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  auto asking = ask_compiler(
      context, x, endpoint::source,
      [drafts = context.serving().drafts, name = std::string(x.value("name"))] { return drafts->source(name); });
  co_await std::move(asking);
}

auto answer_draft(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::draft;
  held_body body(context);
  auto reading = read_edit(context, x, which, edit_fields::text_or_artifact, body);
  auto what = co_await std::move(reading);
  if (!what) co_return;
  const auto compile = [drafts = context.serving().drafts, name = std::string(x.value("name")), is = std::move(*what)] {
    return is.artifact ? drafts->take(name, *is.artifact) : drafts->compile(name, is.text);
  };
  auto asking = ask_compiler(context, x, which, compile);
  co_await std::move(asking);
}

auto answer_completions(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::completions;
  held_body body(context);
  auto reading = read_edit(context, x, which, edit_fields::text_and_offset, body);
  auto what = co_await std::move(reading);
  if (!what) co_return;
  const auto find = [drafts = context.serving().drafts, name = std::string(x.value("name")), at = std::move(*what)] {
    return drafts->complete(name, at.text, at.offset);
  };
  auto asking = ask_compiler(context, x, which, find);
  co_await std::move(asking);
}

auto answer_option(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::option;
  held_body body(context);
  auto reading = read_edit(context, x, which, edit_fields::option, body);
  auto what = co_await std::move(reading);
  if (!what) co_return;
  const auto change = [drafts = context.serving().drafts, name = std::string(x.value("name")),
                       how = std::move(what->option)] { return drafts->change_option(name, how); };
  auto asking = ask_compiler(context, x, which, change);
  co_await std::move(asking);
}

auto answer_project(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  auto asking = ask_compiler(
      context, x, endpoint::project,
      [drafts = context.serving().drafts, name = std::string(x.value("name"))] { return drafts->project(name); });
  co_await std::move(asking);
}

/// Sends the script of the compiler to a browser. Browsers load a worker's script without a token. That is safe,
/// because the script is the same for every project, and is available only after a client that may edit has requested a
/// project. All answers share one copy of the script, because it has several megabytes and any client may request it.
auto answer_compiler_script(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  const auto script = context.serving().drafts->browser_compiler();
  if (script == nullptr)
    co_return reply(context, x, endpoint::page,
                    answer_error(http_status::not_found, "no_compiler",
                                 "the compiler has not been started, because no page has requested it yet",
                                 given_request_id(x.request())));
  static_cast<void>(x.set_field("Content-Security-Policy", compiler_policy));
  static_cast<void>(x.set_field("X-Content-Type-Options", "nosniff"));
  static_cast<void>(x.set_field("Cache-Control", "no-cache"));
  context.metrics.count_answer(endpoint::page, http_status::ok);
  x.begin(http_status::ok, "text/javascript; charset=utf-8", script->size());
  for (std::string_view left = *script; !left.empty();) {
    constexpr std::size_t piece = 256 * 1024;
    auto writing = x.write(left.substr(0, piece));
    if (!co_await std::move(writing)) co_return;
    left.remove_prefix(std::min(left.size(), piece));
  }
}

/// Saves a source, and then reloads the plans, so that the server serves the saved project.
auto answer_save(endpoint_context& context, braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::source;
  held_body body(context);
  auto reading = read_edit(context, x, which, edit_fields::text_and_digest, body);
  auto what = co_await std::move(reading);
  if (!what) co_return;
  const auto write = [drafts = context.serving().drafts, plans = context.serving().changes,
                      name = std::string(x.value("name")), is = std::move(*what)]() -> braid::checked<std::string> {
    auto saved = drafts->save(name, is.text, is.digest);
    if (!saved || plans == nullptr) return saved;
    const auto read = plans->reload();
    return with_findings(*saved, unserved(name, read, *plans));
  };
  auto asking = ask_compiler(context, x, which, write);
  co_await std::move(asking);
}

}  // namespace rankd::detail
