// rankd/cli/checks/checkup.hpp: the checks of `rankd doctor`. Each check adds a finding with advice.
#pragma once

#include <rankd/embed/workspace.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

enum class health : std::uint8_t {
  ok,
  warn,  ///< the server runs, but worse than it could, or not for long
  fail,  ///< some or all requests cannot be answered
};

auto to_string(health health) noexcept -> std::string_view;

struct finding {
  std::string area;
  health how = health::ok;
  std::string found;   ///< one sentence, without its full stop
  std::string advice;  ///< what to do; empty if all is fine
};

/// The findings of `rankd doctor` so far.
class checkup {
 public:
  void ok(std::string_view area, std::string found) { add(area, health::ok, std::move(found), {}); }
  void warn(std::string_view area, std::string found, std::string advice) {
    add(area, health::warn, std::move(found), std::move(advice));
  }
  void fail(std::string_view area, std::string found, std::string advice) {
    add(area, health::fail, std::move(found), std::move(advice));
  }
  /// Adds a finding for each of the first few diagnostics, and one finding with the number of all remaining
  /// diagnostics. `advice` is the advice for diagnostics without a hint.
  void fail(std::string_view area, const braid::diagnostics& problems, std::string_view advice) {
    add(area, health::fail, problems, advice);
  }
  void warn(std::string_view area, const braid::diagnostics& problems, std::string_view advice) {
    add(area, health::warn, problems, advice);
  }

  [[nodiscard]] auto findings() const noexcept -> const std::vector<finding>& { return findings_; }
  [[nodiscard]] auto count(health health) const -> std::size_t;

 private:
  void add(std::string_view area, health health, std::string found, std::string advice) {
    findings_.push_back({std::string(area), health, std::move(found), std::move(advice)});
  }
  void add(std::string_view area, health health, const braid::diagnostics& problems, std::string_view advice);

  std::vector<finding> findings_;
};

/// Checks the project and its registries. Returns nothing if the project cannot be checked further. An empty `folder`
/// means the same as for `workspace::open`.
auto check_project(const std::filesystem::path& folder, checkup& checkup) -> std::optional<workspace>;

/// Checks every artifact, the index, and the rules for events if there are any.
void check_plans(const workspace& workspace, checkup& checkup);

/// Checks every endpoint: opens and reads an embedded store, or connects to a server. Blocks: at most some seconds for
/// each endpoint.
void check_stores(const workspace& workspace, checkup& checkup);

/// Checks the limits of this process, the features of the kernel, and the clock. `root` replaces `/` in tests.
void check_system(const std::filesystem::path& root, checkup& checkup);

/// Returns the findings as text: a line for each, followed by its advice.
auto to_text(const checkup& checkup) -> std::string;

/// Returns the findings as one JSON object.
auto to_json(const checkup& checkup) -> std::string;

}  // namespace rankd
