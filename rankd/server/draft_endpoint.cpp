// rankd/server/draft_endpoint.cpp: sources of plans for the page: read, compiled as a draft, completed, saved.
#include <rankd/server/detail/rank_parts.hpp>

#include <rankd/plan/json.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/server/draft_plans.hpp>
#include <rankd/server/page.hpp>

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

constexpr std::size_t max_edits = 4;  // questions that are under way; the compiler answers one at a time

/// What a client says of the source of a plan.
struct edit {
  std::string text;
  std::string digest;
  std::size_t offset = 0;
  std::optional<std::string> artifact;
  option_change option;
};

enum class edit_fields : std::uint8_t { text_or_artifact, text_and_digest, text_and_offset, option };

/// An offset into the text, which has at least as many bytes as UTF-16 units.
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

/// Why what was saved is not what serves now; empty where it is.
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
                          ", so what was saved does not serve",
               .hint = "unpin it with POST /v1/plans/NAME/unpin",
               .node = {},
               .source = {}});
  return out;
}

/// The answer of a save, whose list of diagnostics has these, too. They have no place in the source.
auto with_findings(const std::string& saved, const braid::diagnostics& problems) -> std::string {
  if (problems.empty()) return saved;
  using ordered = nlohmann::ordered_json;
  ordered answer = ordered::parse(saved, nullptr, false);
  if (!answer.is_object()) return saved;
  ordered all = answer.value("diagnostics", ordered::array());
  for (const braid::diagnostic& each : problems)
    all.push_back({{"code", each.code},
                   {"message", each.message},
                   {"hint", each.hint},
                   {"place", nullptr},
                   {"pointer", each.pointer}});
  answer["diagnostics"] = std::move(all);
  return answer.dump(-1, ' ', false, ordered::error_handler_t::replace) + "\n";
}

auto status_of_edit(const braid::diagnostics& problems) -> http_status {
  const std::string& code = problems.front().code;
  if (code == "no_source") return http_status::not_found;
  if (code == "source_changed") return http_status::conflict;
  return code == "compiler_failed" ? http_status::bad_gateway : http_status::unprocessable_content;
}

}  // namespace

void shard::add_draft_routes() {
  if (!all_->options.shows_page || all_->context.drafts == nullptr) return;
  constexpr std::string_view path = "/v1/plans/{name}/source";
  add_get(path, [this](braid::http_exchange& x) { return source(x); });
  add_post(path, [this](braid::http_exchange& x) { return save(x); });
  serve_post("/v1/plans/{name}/draft", [this](braid::http_exchange& x) { return draft(x); });
  serve_post("/v1/plans/{name}/completions", [this](braid::http_exchange& x) { return complete(x); });
  serve_post("/v1/plans/{name}/option", [this](braid::http_exchange& x) { return change_option(x); });
  serve_get("/v1/plans/{name}/project", [this](braid::http_exchange& x) { return project(x); });
  add_get("/ui/compiler.js", [this](braid::http_exchange& x) { return compiler_script(x); });
}

auto shard::may_edit(braid::http_exchange& x, endpoint which) -> bool {
  if (!may_ask(x, which)) return false;
  if (const auto client = client_of(x); client && (client->may_edit || tokens_ == nullptr)) return true;
  reply(x, which,
        answer_error(http_status::forbidden, "edit_forbidden",
                     "only a client whose token has the right `edit` works on sources of plans and changes what serves",
                     given_request_id(x.request())));
  return false;
}

/// The draft of that name; null where there is none, and then the request has been answered.
auto shard::asked_draft(braid::http_exchange& x, endpoint which, const std::string& name) -> plan_handle {
  if (!may_edit(x, which)) return nullptr;
  plan_handle found = all_->context.drafts->find(name);
  if (found == nullptr)
    reply(x, which,
          answer_error(http_status::not_found, "no_draft",
                       "no draft of " + quote_name(name) + " was compiled, or its text was wrong",
                       given_request_id(x.request())));
  return found;
}

/// Whether the body was read; if not, the request has been answered.
auto shard::read_edit(braid::http_exchange& x, endpoint which, held_body& body) -> braid::task<bool> {
  std::optional<braid::result<void>> read = read_body_now(x, body);
  if (!read) {
    auto reading = read_body(x, body);
    read = co_await std::move(reading);
  }
  if (*read) co_return true;
  std::error_code why = read->error();
  if (why.category() != braid::detail::http_category()) why = braid::http_errc::truncated;
  const auto fault = static_cast<braid::http_errc>(why.value());
  reply(x, which,
        answer_error(braid::status_of(fault), std::string(code_of(fault)), sentence_of(fault, all_->options.limits),
                     given_request_id(x.request())));
  co_return false;
}

/// The compiler answers on a thread that may block.
template <typename Ask>
auto shard::ask_compiler(braid::http_exchange& x, endpoint which, Ask ask) -> braid::task<void> {
  const std::string id(given_request_id(x.request()));
  const auto place = all_->of_traces.try_enter("drafts", max_edits);
  if (!place) {
    static_cast<void>(x.set_field("Retry-After", "1"));
    co_return reply(x, which,
                    answer_error(http_status::too_many_requests, "compiler_busy",
                                 "the compiler of plans has enough to do; try again later", id));
  }
  auto asking = braid::offload(on_->blocking(), std::move(ask));
  const braid::checked<std::string> answer = co_await std::move(asking);
  if (!answer) co_return reply(x, which, answer_error(status_of_edit(answer.error()), answer.error(), id));
  reply(x, which, http_status::ok, json_type, *answer);
}

auto shard::source(braid::http_exchange& x) -> braid::task<void> {
  if (!may_edit(x, endpoint::source)) co_return;
  auto asking = ask_compiler(x, endpoint::source, [drafts = all_->context.drafts, name = std::string(x.value("name"))] {
    return drafts->source(name);
  });
  co_await std::move(asking);
}

auto shard::draft(braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::draft;
  if (!may_edit(x, which)) co_return;
  held_body body(*this);
  auto reading = read_edit(x, which, body);
  if (!co_await std::move(reading)) co_return;
  auto what = read_edit_text(body.text, edit_fields::text_or_artifact);
  if (!what)
    co_return reply(x, which, answer_error(http_status::bad_request, what.error(), given_request_id(x.request())));
  const auto compile = [drafts = all_->context.drafts, name = std::string(x.value("name")), is = std::move(*what)] {
    return is.artifact ? drafts->take(name, *is.artifact) : drafts->compile(name, is.text);
  };
  auto asking = ask_compiler(x, which, compile);
  co_await std::move(asking);
}

auto shard::complete(braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::completions;
  if (!may_edit(x, which)) co_return;
  held_body body(*this);
  auto reading = read_edit(x, which, body);
  if (!co_await std::move(reading)) co_return;
  auto what = read_edit_text(body.text, edit_fields::text_and_offset);
  if (!what)
    co_return reply(x, which, answer_error(http_status::bad_request, what.error(), given_request_id(x.request())));
  const auto find = [drafts = all_->context.drafts, name = std::string(x.value("name")), at = std::move(*what)] {
    return drafts->complete(name, at.text, at.offset);
  };
  auto asking = ask_compiler(x, which, find);
  co_await std::move(asking);
}

auto shard::change_option(braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::option;
  if (!may_edit(x, which)) co_return;
  held_body body(*this);
  auto reading = read_edit(x, which, body);
  if (!co_await std::move(reading)) co_return;
  auto what = read_edit_text(body.text, edit_fields::option);
  if (!what)
    co_return reply(x, which, answer_error(http_status::bad_request, what.error(), given_request_id(x.request())));
  const auto change = [drafts = all_->context.drafts, name = std::string(x.value("name")),
                       how = std::move(what->option)] { return drafts->change_option(name, how); };
  auto asking = ask_compiler(x, which, change);
  co_await std::move(asking);
}

auto shard::project(braid::http_exchange& x) -> braid::task<void> {
  if (!may_edit(x, endpoint::project)) co_return;
  auto asking = ask_compiler(
      x, endpoint::project,
      [drafts = all_->context.drafts, name = std::string(x.value("name"))] { return drafts->project(name); });
  co_await std::move(asking);
}

/// A worker's script is asked for without a token. It is the same for every project, and there only once a client that
/// may edit has asked for a project. Megabytes for any client that comes: all answers send the same bytes.
auto shard::compiler_script(braid::http_exchange& x) -> braid::task<void> {
  const auto script = all_->context.drafts->browser_compiler();
  if (script == nullptr)
    co_return reply(x, endpoint::page,
                    answer_error(http_status::not_found, "no_compiler", "no page has asked for a compiler yet",
                                 given_request_id(x.request())));
  static_cast<void>(x.set_field("Content-Security-Policy", compiler_policy));
  static_cast<void>(x.set_field("X-Content-Type-Options", "nosniff"));
  static_cast<void>(x.set_field("Cache-Control", "no-cache"));
  metrics_.count_answer(endpoint::page, http_status::ok);
  x.begin(http_status::ok, "text/javascript; charset=utf-8", script->size());
  for (std::string_view left = *script; !left.empty();) {
    constexpr std::size_t piece = 256 * 1024;
    auto writing = x.write(left.substr(0, piece));
    if (!co_await std::move(writing)) co_return;
    left.remove_prefix(std::min(left.size(), piece));
  }
}

/// What is served then is what the project has: so the plans are read anew.
auto shard::save(braid::http_exchange& x) -> braid::task<void> {
  constexpr endpoint which = endpoint::source;
  if (!may_edit(x, which)) co_return;
  held_body body(*this);
  auto reading = read_edit(x, which, body);
  if (!co_await std::move(reading)) co_return;
  auto what = read_edit_text(body.text, edit_fields::text_and_digest);
  if (!what)
    co_return reply(x, which, answer_error(http_status::bad_request, what.error(), given_request_id(x.request())));
  const auto write = [drafts = all_->context.drafts, plans = all_->context.changes, name = std::string(x.value("name")),
                      is = std::move(*what)]() -> braid::checked<std::string> {
    auto saved = drafts->save(name, is.text, is.digest);
    if (!saved || plans == nullptr) return saved;
    const auto read = plans->reload();
    return with_findings(*saved, unserved(name, read, *plans));
  };
  auto asking = ask_compiler(x, which, write);
  co_await std::move(asking);
}

}  // namespace rankd::detail
