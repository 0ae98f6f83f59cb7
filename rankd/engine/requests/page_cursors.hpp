// rankd/engine/requests/page_cursors.hpp: signed cursors: where the next page of a ranking begins, as a text that
// clients hold.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/ranking.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/registry/project.hpp>
#include <rankd/registry/registries.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace rankd {

/// Where a page begins.
struct page_place {
  std::uint64_t begin = 0;             ///< how many rows stand before it
  std::chrono::milliseconds first{0};  ///< since 1970: when the first page was asked for
};

/// What the pages of one ranking have in common: the plan, the user, the candidates and the values of params; not the
/// times that a clock gave. 16 bytes. Requires a request that `fit_to_plan` reports nothing about.
/// Cost: SHA-256 of all of that.
[[nodiscard]] auto ranking_identity(const bound_plan& plan, const rank_request& request, const registries& declared)
    -> std::string;

/// Signs and reads cursors. A cursor is base64url of its place, its time and the identity of its ranking, with
/// HMAC-SHA-256 after them: a client without the key can neither make nor change one.
/// Threads: any.
class page_cursors {
 public:
  /// Requires a key.
  explicit page_cursors(cursor_settings settings) : settings_(std::move(settings)) {}

  [[nodiscard]] auto sign(const page_place& place, std::string_view identity, std::chrono::milliseconds now) const
      -> std::string;

  /// Errors: bad_cursor for what was not signed with this key, or was changed; foreign_cursor for one of another plan,
  /// user or candidates, or of other params; expired_cursor.
  [[nodiscard]] auto read(std::string_view cursor, std::string_view identity, std::chrono::milliseconds now) const
      -> std::expected<page_place, rank_error>;

  /// A cursor of any key as if it had been signed with this one, and given for that ranking, if one is named. For
  /// replays, whose clients are trusted. Nothing for a text that is no cursor.
  [[nodiscard]] auto sign_again(std::string_view cursor, std::optional<std::string_view> identity = {}) const
      -> std::optional<std::string>;

 private:
  cursor_settings settings_;
};

/// Those of a project; null where it has no key.
[[nodiscard]] auto make_page_cursors(const cursor_settings& settings) -> std::shared_ptr<const page_cursors>;

/// Finds the page that a request asks for, at the time when it came, and gives all pages of a ranking the time of the
/// first one, where a clock gives params their values. Does nothing for a plan without pages. Errors: no_cursor_key
/// without `cursors`; those of `page_cursors::read`.
[[nodiscard]] auto find_page(rank_request& request, const bound_plan& plan, const registries& declared,
                             const page_cursors* cursors) -> std::optional<rank_error>;

/// The milliseconds since 1970.
[[nodiscard]] auto milliseconds_now() noexcept -> std::chrono::milliseconds;

}  // namespace rankd
