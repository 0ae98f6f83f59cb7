// rankd/server/studio/draft_plans.hpp: sources of plans that are compiled and tried before they are saved.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/plans/plan_set.hpp>
#include <rankd/server/studio/compiler_process.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace rankd {

/// Another value for the option that `[from, to)` of a text sets, in UTF-16 units.
struct option_change {
  std::string text;
  std::size_t from = 0;
  std::size_t to = 0;
  std::string kind;  ///< its notation, as the compiler reports it for each option
  std::string value;
};

/// The sources of a project's plans, accessed through its compiler, and the last compiled draft of each plan. A draft
/// is bound as the plan with its name, with that plan's budget; it stays in memory, and no request can name it.
/// Threads: any. Lifetime: what `bind` uses outlives it.
class draft_plans {
 public:
  static constexpr std::size_t max_drafts = 32;  ///< the plans with the lowest names lose theirs first

  struct settings {
    compiler_process::settings compiler = {};
    /// Binds an artifact that was compiled from the source of a plan, to the current registries; the second text is its
    /// name.
    std::function<braid::checked<bound_plan>(const std::string&, const std::string&)> bind;
  };

  explicit draft_plans(settings settings) : settings_(std::move(settings)), compiler_(settings_.compiler) {}

  /// Returns `{file, text, digest}`. Blocks: as the next functions, until the compiler has answered. Errors: as the
  /// next functions, those of `compiler_process::ask` and of the compiler, such as no_source.
  auto source(const std::string& plan) -> braid::checked<std::string>;
  /// Compiles a text in place of the source: `{file, diagnostics, options, plan}`, where `plan` is the graph, or null.
  /// Each diagnostic has a place in the text, or null; `options` lists the places at which the text sets options of
  /// nodes.
  auto compile(const std::string& plan, const std::string& text) -> braid::checked<std::string>;
  /// Does the same for an artifact that a compiler elsewhere has made from such a text: `{diagnostics, plan}`.
  auto take(const std::string& plan, const std::string& artifact) -> braid::checked<std::string>;
  /// Returns what a compiler elsewhere reads to compile the plan; that compiler is `browser_compiler` from then on.
  auto project(const std::string& plan) -> braid::checked<std::string>;
  /// Returns the compiler as a script for a worker of a browser; null until `project` was answered.
  [[nodiscard]] auto browser_compiler() const -> std::shared_ptr<const std::string>;
  /// Writes the text as the source, and the artifact if it compiles: `{file, digest, diagnostics}`. Errors also:
  /// source_changed if the source has another digest than `digest`.
  auto save(const std::string& plan, const std::string& text, const std::string& digest) -> braid::checked<std::string>;
  /// Returns the possible texts at an offset of the text, in UTF-16 units: `{start, entries}`.
  auto complete(const std::string& plan, const std::string& text, std::size_t offset) -> braid::checked<std::string>;

  /// Returns the characters of a text that set an option to another value: `{from, to, insert}`. Errors also:
  /// not_an_option, bad_value.
  auto change_option(const std::string& plan, const option_change& how) -> braid::checked<std::string>;

  /// Refuses pending and future questions. Called at shutdown.
  void close() { compiler_.close(); }

  /// Drops all drafts, and asks a new compiler from now on, because the current one and the drafts are outdated.
  void forget();

  /// Returns the draft that `compile` made last; null if there is no draft, or its text was wrong.
  [[nodiscard]] auto find(std::string_view plan) const -> plan_handle;

 private:
  struct draft {
    std::uint64_t number = 0;  // of its question
    plan_handle plan;          // null if its text was wrong
  };

  auto next_number() -> std::uint64_t;
  void keep(const std::string& plan, std::uint64_t number, plan_handle made);

  settings settings_;
  compiler_process compiler_;
  mutable std::mutex mutex_;
  std::uint64_t asked_ = 0;                           // under it: the number of the last question
  std::uint64_t forgotten_ = 0;                       // under it: drafts up to this one are outdated
  std::map<std::string, draft, std::less<>> drafts_;  // under it
  std::shared_ptr<const std::string> script_;         // under it; from the current compiler
};

}  // namespace rankd
