// rankd/server/studio/draft_plans.hpp: compiles and runs edited sources of plans before they are saved.
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

/// A new value for an option in a text. The range `[from, to)` of the text, in UTF-16 units, sets the option.
struct option_change {
  std::string text;
  std::size_t from = 0;
  std::size_t to = 0;
  std::string kind;  ///< the notation of the value, as the compiler reports it for each option
  std::string value;
};

/// The sources of a project's plans, and the last compiled draft of each plan. A draft is bound in the same way as the
/// plan with the same name, and has the same budget. Drafts are kept only in memory, and requests to rank cannot use
/// them. Threads: any.
/// Lifetime: everything that `bind` uses outlives it.
class draft_plans {
 public:
  /// The maximum number of drafts. If there are more, drafts are dropped in the order of the names of their plans.
  static constexpr std::size_t max_drafts = 32;

  struct settings {
    compiler_process::settings compiler = {};
    /// Binds an artifact to the current registries. The artifact was compiled from the source of a plan. The second
    /// argument is the name of the plan.
    std::function<braid::checked<bound_plan>(const std::string&, const std::string&)> bind;
  };

  explicit draft_plans(settings settings) : settings_(std::move(settings)), compiler_(settings_.compiler) {}

  /// Returns the source of a plan as `{file, text, digest}`. Blocks: until the compiler has answered. Errors: those of
  /// `compiler_process::ask` and of the compiler, such as no_source. The functions from here to `change_option` block
  /// in the same way, and report the same errors.
  auto source(const std::string& plan) -> braid::checked<std::string>;
  /// Compiles a text instead of the saved source. Returns `{file, diagnostics, options, plan}`. `plan` is the graph of
  /// the plan, or null if compiling failed. Each diagnostic has a position in the text, or null. `options` lists the
  /// positions at which the text sets options of nodes.
  auto compile(const std::string& plan, const std::string& text) -> braid::checked<std::string>;
  /// Binds an artifact that another compiler (`browser_compiler`) has made from an edited text. Returns `{diagnostics,
  /// plan}`.
  auto take(const std::string& plan, const std::string& artifact) -> braid::checked<std::string>;
  /// Returns the files that a compiler in a browser needs to compile the plan, and loads the script of that compiler
  /// (`browser_compiler`).
  auto project(const std::string& plan) -> braid::checked<std::string>;
  /// Returns the compiler as a script for a worker in a browser. Returns null until `project` has been called.
  [[nodiscard]] auto browser_compiler() const -> std::shared_ptr<const std::string>;
  /// Saves a text as the source of a plan. If the text compiles, also saves the artifact. Returns `{file, digest,
  /// diagnostics}`. Additional error: source_changed if the digest of the current source is not `digest`.
  auto save(const std::string& plan, const std::string& text, const std::string& digest) -> braid::checked<std::string>;
  /// Returns completions at an offset of the text, in UTF-16 units: `{start, entries}`.
  auto complete(const std::string& plan, const std::string& text, std::size_t offset) -> braid::checked<std::string>;

  /// Returns an edit that sets an option in the text to another value: `{from, to, insert}`. Additional errors:
  /// not_an_option, bad_value.
  auto change_option(const std::string& plan, const option_change& change) -> braid::checked<std::string>;

  /// Refuses pending and future questions. Called at shutdown.
  void close() { compiler_.close(); }

  /// Drops all drafts and replaces the compiler process, because the project has changed.
  void forget();

  /// Returns the last compiled draft of a plan. Returns null if there is no draft, or if the last text did not compile.
  [[nodiscard]] auto find(std::string_view plan) const -> plan_handle;

 private:
  struct draft {
    std::uint64_t number = 0;  // the number of the question that created the draft
    plan_handle plan;          // null if the text was invalid
  };

  auto next_number() -> std::uint64_t;
  void keep(const std::string& plan, std::uint64_t number, plan_handle made);

  settings settings_;
  compiler_process compiler_;
  mutable std::mutex mutex_;
  std::uint64_t asked_ = 0;                           // the number of the last question; guarded by the mutex
  std::uint64_t forgotten_ = 0;                       // drafts up to this number are outdated; guarded by the mutex
  std::map<std::string, draft, std::less<>> drafts_;  // guarded by the mutex
  std::shared_ptr<const std::string> script_;         // the script of the current compiler; guarded by the mutex
};

}  // namespace rankd
