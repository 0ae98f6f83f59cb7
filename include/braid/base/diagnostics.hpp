// braid/base/diagnostics.hpp: diagnostics about data that a person wrote: all of them, each with its place and a hint.
#pragma once

#include <braid/base/config.hpp>

#include <cstddef>
#include <expected>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid {

/// One diagnostic. `code` is stable and made for programs; `message` is a sentence for people.
struct diagnostic {
  std::string code;     ///< snake_case, never renamed: "unknown_key"
  std::string pointer;  ///< JSON pointer (RFC 6901) into the document, or empty for the whole of it
  std::string message;  ///< one sentence that says what is wrong
  std::string hint;     ///< what to do about it, or empty
  std::string node;     ///< the plan's node, or empty
  std::string source;   ///< the file that was read, or empty

  auto operator==(const diagnostic&) const -> bool = default;
};

/// Diagnostics in the order in which they were found: the first `max_items` of them, so that a document of nothing but
/// mistakes does not cost memory for each of a million. Threads: as any container. Errors: std::bad_alloc.
class BRAID_API diagnostics {
 public:
  static constexpr std::size_t max_items = 1'000;

  diagnostics() = default;
  explicit diagnostics(diagnostic only) { add(std::move(only)); }

  void add(diagnostic item) {
    if (items_.size() < max_items) items_.push_back(std::move(item));
  }
  void append(diagnostics others);

  /// Fills `source` (or `node`) of every diagnostic that has none.
  void set_source(std::string_view source);
  void set_node(std::string_view node);

  [[nodiscard]] auto empty() const noexcept -> bool { return items_.empty(); }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return items_.size(); }
  [[nodiscard]] auto begin() const noexcept { return items_.begin(); }
  [[nodiscard]] auto end() const noexcept { return items_.end(); }
  [[nodiscard]] auto front() const noexcept -> const diagnostic& { return items_.front(); }

  /// One line a diagnostic, ended by a line break: "source#/pointer: node `name`: sentence [code]; hint".
  [[nodiscard]] auto to_text() const -> std::string;

 private:
  std::vector<diagnostic> items_;
};

/// A value, or everything that is wrong with the data it was to be made from.
template <typename T>
using checked = std::expected<T, diagnostics>;

/// The value of what was checked, where wrong data is to end what is being done: see `or_throw` of a result. Errors:
/// throws std::invalid_argument with all diagnostics as text, and with `what` before them, where that is given.
template <typename T>
auto or_throw(checked<T> from, std::string_view what = {}) -> T {
  if (!from)
    throw std::invalid_argument(std::string(what).append(what.empty() ? "" : ": ").append(from.error().to_text()));
  return *std::move(from);
}

/// Appends one reference token to a JSON pointer, with `~` and `/` escaped. Threads: any. Errors: std::bad_alloc.
BRAID_API auto json_pointer(std::string_view parent, std::string_view token) -> std::string;
BRAID_API auto json_pointer(std::string_view parent, std::size_t index) -> std::string;

/// "did you mean `x`?" for the known name nearest to `name` (the first of several), or empty where none is near.
/// Threads: any. Errors: std::bad_alloc.
BRAID_API auto did_you_mean(std::string_view name, const std::vector<std::string_view>& known) -> std::string;

}  // namespace braid
