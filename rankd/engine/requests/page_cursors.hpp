// rankd/engine/requests/page_cursors.hpp: signed cursors: the place of the next page of a ranking, as a text that
// clients keep.
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

/// The place at which a page begins.
struct page_place {
  std::uint64_t begin = 0;             ///< the number of rows before it
  std::chrono::milliseconds first{0};  ///< since 1970: when the first page was requested
};

/// Returns a digest of what the pages of one ranking have in common: the plan, the user, the candidates and the values
/// of params, except times from a clock. 16 bytes. Requires a request that `fit_to_plan` reports nothing about.
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

  /// Errors: bad_cursor for a text that was not signed with this key, or was changed; foreign_cursor for another plan,
  /// user or candidates, or other params; expired_cursor.
  [[nodiscard]] auto read(std::string_view cursor, std::string_view identity, std::chrono::milliseconds now) const
      -> std::expected<page_place, rank_error>;

  /// Signs a cursor of any key again with this key, for the given ranking, if there is one. For replays, whose clients
  /// are trusted. Returns nothing for a text that is not a cursor.
  [[nodiscard]] auto sign_again(std::string_view cursor, std::optional<std::string_view> identity = {}) const
      -> std::optional<std::string>;

 private:
  cursor_settings settings_;
};

/// Returns the cursors of a project; null if it has no key.
[[nodiscard]] auto make_page_cursors(const cursor_settings& settings) -> std::shared_ptr<const page_cursors>;

/// Finds the page that a request asks for, at the time when it came. If params get their values from a clock, all pages
/// of a ranking have the time of the first page. Does nothing for a plan without pages. Errors: no_cursor_key without
/// `cursors`; those of `page_cursors::read`.
[[nodiscard]] auto find_page(rank_request& request, const bound_plan& plan, const registries& declared,
                             const page_cursors* cursors) -> std::optional<rank_error>;

/// Returns the milliseconds since 1970.
[[nodiscard]] auto milliseconds_now() noexcept -> std::chrono::milliseconds;

}  // namespace rankd
