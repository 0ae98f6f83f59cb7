// rankd/server/studio/draft_plans.cpp: sends sources of plans to the compiler, and binds the compiled drafts like
// plans.
#include <rankd/server/studio/draft_plans.hpp>

#include <rankd/engine/plans/plan_graph.hpp>
#include <rankd/registry/diagnostic.hpp>

#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using ordered = nlohmann::ordered_json;

auto dumped(const ordered& what) -> std::string { return what.dump(-1, ' ', false, ordered::error_handler_t::replace); }

/// Sends a question to the compiler and returns the object that answers it.
auto make_answer(compiler_process& compiler, std::uint64_t number, ordered question) -> braid::checked<ordered> {
  question["number"] = number;
  ordered answer;
  const auto fits = [&answer, number](const std::string& line) {
    answer = ordered::parse(line, nullptr, false);
    const auto repeated = answer.find("number");
    return answer.is_object() && repeated != answer.end() && *repeated == number;
  };
  // The line contains only ASCII, because readers of lines may treat other characters than the line feed as line ends.
  const auto line = compiler.ask(question.dump(-1, ' ', true, ordered::error_handler_t::replace), fits);
  if (!line) return std::unexpected(line.error());
  answer.erase("number");
  const auto error = answer.find("error");
  if (error == answer.end()) return answer;
  if (!error->is_object()) return refused("compiler_failed", "the compiler's answer has an unexpected form");
  return refused(error->value("code", "compiler_failed"), error->value("message", "the compiler printed no reason"));
}

/// Converts the engine's diagnostics about an artifact to JSON. They have no position in the source.
auto make_json(const braid::diagnostics& problems) -> ordered {
  ordered out = ordered::array();
  for (const braid::diagnostic& each : problems)
    out.push_back({{"code", each.code},
                   {"message", each.message},
                   {"hint", each.hint},
                   {"place", nullptr},
                   {"pointer", each.pointer}});
  return out;
}

/// Binds an artifact as a plan. If the engine refuses it, returns null and sets `problems` to the reasons.
auto bound(const std::string& artifact, const std::string& name, const decltype(draft_plans::settings::bind)& bind,
           ordered& problems) -> plan_handle {
  auto made = bind(artifact, name);
  if (made) return std::make_shared<const bound_plan>(std::move(*made));
  problems = make_json(made.error());
  return nullptr;
}

/// Returns the members of the JSON answer about a draft.
auto draft_fields(const ordered& problems, const plan_handle& made) -> std::string {
  std::string graph = made == nullptr ? "null" : graph_json(make_graph(*made, *made->declared));
  graph.erase(graph.find_last_not_of('\n') + 1);
  return "\"diagnostics\":" + dumped(problems) + ",\"plan\":" + graph;
}

auto relayed(const braid::checked<ordered>& answer) -> braid::checked<std::string> {
  if (!answer) return std::unexpected(answer.error());
  return dumped(*answer) + "\n";
}

}  // namespace

auto draft_plans::source(const std::string& plan) -> braid::checked<std::string> {
  return relayed(make_answer(compiler_, next_number(), {{"do", "source"}, {"plan", plan}}));
}

auto draft_plans::save(const std::string& plan, const std::string& text, const std::string& digest)
    -> braid::checked<std::string> {
  return relayed(
      make_answer(compiler_, next_number(), {{"do", "save"}, {"plan", plan}, {"text", text}, {"digest", digest}}));
}

auto draft_plans::complete(const std::string& plan, const std::string& text, std::size_t offset)
    -> braid::checked<std::string> {
  return relayed(
      make_answer(compiler_, next_number(), {{"do", "complete"}, {"plan", plan}, {"text", text}, {"offset", offset}}));
}

auto draft_plans::change_option(const std::string& plan, const option_change& how) -> braid::checked<std::string> {
  return relayed(make_answer(compiler_, next_number(),
                             {{"do", "edit"},
                              {"plan", plan},
                              {"text", how.text},
                              {"from", how.from},
                              {"to", how.to},
                              {"kind", how.kind},
                              {"value", how.value}}));
}

auto draft_plans::compile(const std::string& plan, const std::string& text) -> braid::checked<std::string> {
  const std::uint64_t number = next_number();
  auto answer = make_answer(compiler_, number, {{"do", "draft"}, {"plan", plan}, {"text", text}});
  if (!answer) return std::unexpected(std::move(answer.error()));
  plan_handle made;
  ordered problems = answer->value("diagnostics", ordered::array());
  const auto artifact = answer->find("artifact");
  if (artifact != answer->end() && artifact->is_string())
    made = bound(artifact->get<std::string>(), plan, settings_.bind, problems);
  std::string out = "{\"file\":" + dumped(answer->value("file", ordered(nullptr))) + ",";
  out += draft_fields(problems, made);
  out += ",\"options\":" + dumped(answer->value("options", ordered::array())) + "}\n";
  keep(plan, number, std::move(made));
  return out;
}

auto draft_plans::take(const std::string& plan, const std::string& artifact) -> braid::checked<std::string> {
  const std::uint64_t number = next_number();
  ordered problems = ordered::array();
  plan_handle made = bound(artifact, plan, settings_.bind, problems);
  std::string out = "{" + draft_fields(problems, made) + "}\n";
  keep(plan, number, std::move(made));
  return out;
}

auto draft_plans::project(const std::string& plan) -> braid::checked<std::string> {
  const std::uint64_t number = next_number();
  const bool has_script = browser_compiler() != nullptr;
  auto answer = make_answer(compiler_, number, {{"do", "project"}, {"plan", plan}, {"script", !has_script}});
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (const auto script = answer->find("script"); script != answer->end()) {
    if (!script->is_string()) return refused("compiler_failed", "the compiler's answer has an unexpected form");
    auto text = std::make_shared<const std::string>(std::move(script->get_ref<std::string&>()));
    answer->erase(script);
    const std::scoped_lock lock(mutex_);
    if (number > forgotten_) script_ = std::move(text);
  }
  return dumped(*answer) + "\n";
}

auto draft_plans::browser_compiler() const -> std::shared_ptr<const std::string> {
  const std::scoped_lock lock(mutex_);
  return script_;
}

/// Stores the draft of a question. Drops the draft if it is outdated, or if a later question has already been answered.
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
