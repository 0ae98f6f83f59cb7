// rankd/server/studio/draft_plans.cpp: sends sources of plans to the compiler, and binds the compiled drafts like
// plans.
#include <rankd/server/studio/draft_plans.hpp>

#include <rankd/engine/plans/plan_graph.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/json_members.hpp>
#include <rankd/server/studio/compiler_answer.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace rankd {
namespace {

/// Returns the beginning of the JSON of a question to the compiler.
auto begin_question(std::string_view action, std::string_view plan) -> std::string {
  std::string out = "{";
  append_json_member(out, "do", action);
  append_json_member(out, "plan", plan);
  return out;
}

/// Returns the beginning of the JSON of a question that also contains a text.
auto begin_question(std::string_view action, std::string_view plan, std::string_view text) -> std::string {
  std::string out = begin_question(action, plan);
  append_json_member(out, "text", text);
  return out;
}

/// Sends a question to the compiler, and returns the answer.
auto make_answer(compiler_process& compiler, std::uint64_t number, std::string question)
    -> braid::checked<compiler_answer> {
  append_json_count(question, "number", number);
  question += '}';
  std::optional<compiler_answer> answer;
  const auto fits = [&answer, number](const std::string& line) {
    answer = compiler_answer::parse(line);
    return answer && answer->find("number") == std::to_string(number);
  };
  const auto line = compiler.ask(as_ascii(question), fits);
  if (!line) return std::unexpected(line.error());
  answer->erase("number");
  const std::string_view error = answer->find("error");
  if (error.empty()) return std::move(*answer);
  const auto reason = compiler_answer::parse(error);
  if (!reason) return refused("compiler_failed", "the compiler's answer has an unexpected form");
  return refused(reason->text("code").value_or("compiler_failed"),
                 reason->text("message").value_or("the compiler printed no reason"));
}

/// Binds an artifact as a plan. If the engine refuses the artifact, returns null and replaces `problems` by the
/// reasons.
auto bound(const std::string& artifact, const std::string& name, const decltype(draft_plans::settings::bind)& bind,
           std::string& problems) -> plan_handle {
  auto made = bind(artifact, name);
  if (made) return std::make_shared<const bound_plan>(std::move(*made));
  problems = unplaced_json(made.error());
  return nullptr;
}

/// Returns the members of an answer about a draft.
auto draft_fields(const std::string& problems, const plan_handle& made) -> std::string {
  std::string graph = made == nullptr ? "null" : graph_json(make_graph(*made, *made->declared));
  graph.erase(graph.find_last_not_of('\n') + 1);
  return "\"diagnostics\":" + problems + ",\"plan\":" + graph;
}

auto relayed(const braid::checked<compiler_answer>& answer) -> braid::checked<std::string> {
  if (!answer) return std::unexpected(answer.error());
  return answer->line();
}

/// Returns the value of a member, or `otherwise` if there is no such member.
auto value_or(const compiler_answer& answer, std::string_view name, std::string_view otherwise) -> std::string {
  const std::string_view found = answer.find(name);
  return std::string(found.empty() ? otherwise : found);
}

}  // namespace

auto draft_plans::source(const std::string& plan) -> braid::checked<std::string> {
  return relayed(make_answer(compiler_, next_number(), begin_question("source", plan)));
}

auto draft_plans::save(const std::string& plan, const std::string& text, const std::string& digest)
    -> braid::checked<std::string> {
  std::string question = begin_question("save", plan, text);
  append_json_member(question, "digest", digest);
  return relayed(make_answer(compiler_, next_number(), std::move(question)));
}

auto draft_plans::complete(const std::string& plan, const std::string& text, std::size_t offset)
    -> braid::checked<std::string> {
  std::string question = begin_question("complete", plan, text);
  append_json_count(question, "offset", offset);
  return relayed(make_answer(compiler_, next_number(), std::move(question)));
}

auto draft_plans::change_option(const std::string& plan, const option_change& change) -> braid::checked<std::string> {
  std::string question = begin_question("edit", plan, change.text);
  append_json_count(question, "from", change.from);
  append_json_count(question, "to", change.to);
  append_json_member(question, "kind", change.kind);
  append_json_member(question, "value", change.value);
  return relayed(make_answer(compiler_, next_number(), std::move(question)));
}

auto draft_plans::compile(const std::string& plan, const std::string& text) -> braid::checked<std::string> {
  const std::uint64_t number = next_number();
  const auto answer = make_answer(compiler_, number, begin_question("draft", plan, text));
  if (!answer) return std::unexpected(answer.error());
  plan_handle made;
  std::string problems = value_or(*answer, "diagnostics", "[]");
  if (const auto artifact = answer->text("artifact")) made = bound(*artifact, plan, settings_.bind, problems);
  std::string out = "{\"file\":" + value_or(*answer, "file", "null") + "," + draft_fields(problems, made) +
                    ",\"options\":" + value_or(*answer, "options", "[]") + "}\n";
  keep(plan, number, std::move(made));
  return out;
}

auto draft_plans::take(const std::string& plan, const std::string& artifact) -> braid::checked<std::string> {
  const std::uint64_t number = next_number();
  std::string problems = "[]";
  plan_handle made = bound(artifact, plan, settings_.bind, problems);
  std::string out = "{" + draft_fields(problems, made) + "}\n";
  keep(plan, number, std::move(made));
  return out;
}

auto draft_plans::project(const std::string& plan) -> braid::checked<std::string> {
  const std::uint64_t number = next_number();
  std::string question = begin_question("project", plan);
  append_json_flag(question, "script", browser_compiler() == nullptr);
  auto answer = make_answer(compiler_, number, std::move(question));
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (!answer->find("script").empty()) {
    auto script = answer->text("script");
    if (!script) return refused("compiler_failed", "the compiler's answer has an unexpected form");
    auto text = std::make_shared<const std::string>(std::move(*script));
    answer->erase("script");
    const std::scoped_lock lock(mutex_);
    if (number > forgotten_) script_ = std::move(text);
  }
  return answer->line();
}

auto draft_plans::browser_compiler() const -> std::shared_ptr<const std::string> {
  const std::scoped_lock lock(mutex_);
  return script_;
}

/// Stores the draft of a question. Drops the draft instead if it is outdated, or if a later question has already been
/// answered.
void draft_plans::keep(const std::string& plan, std::uint64_t number, plan_handle made) {
  const std::scoped_lock lock(mutex_);
  if (number <= forgotten_) return;
  draft& kept = drafts_[plan];
  if (kept.number < number) kept = {.number = number, .plan = std::move(made)};
  if (drafts_.size() > max_drafts)
    drafts_.erase(drafts_.begin()->first == plan ? std::next(drafts_.begin()) : drafts_.begin());
}

auto draft_plans::find(std::string_view plan) const -> plan_handle {
  const std::scoped_lock lock(mutex_);
  const auto found = drafts_.find(plan);
  return found == drafts_.end() ? nullptr : found->second.plan;
}

auto draft_plans::next_number() -> std::uint64_t {
  const std::scoped_lock lock(mutex_);
  return ++asked_;
}

void draft_plans::forget() {
  {
    const std::scoped_lock lock(mutex_);
    forgotten_ = asked_;
    drafts_.clear();
    script_ = nullptr;
  }
  compiler_.begin_anew();
}

}  // namespace rankd
