// rankd/engine/requests/page_cursors.hpp: signed cursors, which clients send to get the next page of a ranking.
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

/// The position at which a page begins.
struct page_place {
  std::uint64_t begin = 0;             ///< the number of rows before the page
  std::chrono::milliseconds first{0};  ///< since 1970: when the first page was requested
};

/// Returns a 16-byte digest that is the same for all pages of one ranking. It covers the plan, the user, the candidates
/// and the values of params, except values that are times from a clock. Requires that `fit_to_plan` reported no error
/// for the request.
/// Cost: one SHA-256 of this data.
[[nodiscard]] auto ranking_identity(const bound_plan& plan, const rank_request& request, const registries& declared)
    -> std::string;

/// Signs and verifies cursors. A cursor is the base64url encoding of a position, a time and the identity of a ranking,
/// followed by an HMAC-SHA-256. A client without the key can neither create nor change a cursor.
/// Threads: any.
class page_cursors {
 public:
  /// Requires settings that contain a key.
  explicit page_cursors(cursor_settings settings) : settings_(std::move(settings)) {}

  [[nodiscard]] auto sign(const page_place& place, std::string_view identity, std::chrono::milliseconds now) const
      -> std::string;

  /// Verifies a cursor and returns its position. Errors: bad_cursor if it was not signed with this key or was changed;
  /// foreign_cursor if it belongs to another plan, user, list of candidates or set of params; expired_cursor.
  [[nodiscard]] auto read(std::string_view cursor, std::string_view identity, std::chrono::milliseconds now) const
      -> std::expected<page_place, rank_error>;

  /// Signs a cursor again with this key, even if it was signed with another key. If a ranking is given, the new cursor
  /// belongs to that ranking. Use this function only for replays, because their clients are trusted. Returns nothing
  /// for a text that is not a cursor.
  [[nodiscard]] auto sign_again(std::string_view cursor, std::optional<std::string_view> identity = {}) const
      -> std::optional<std::string>;

 private:
  cursor_settings settings_;
};

/// Returns the cursors of a project, or null if the project has no key.
[[nodiscard]] auto make_page_cursors(const cursor_settings& settings) -> std::shared_ptr<const page_cursors>;

/// Sets the page of a request from its cursor. If params get their values from a clock, all pages of a ranking use the
/// time of the first page. Does nothing for a plan without pages. Errors: no_cursor_key if `cursors` is null; those of
/// `page_cursors::read`.
[[nodiscard]] auto find_page(rank_request& request, const bound_plan& plan, const registries& declared,
                             const page_cursors* cursors) -> std::optional<rank_error>;

/// Returns the current time as milliseconds since 1970.
[[nodiscard]] auto milliseconds_now() noexcept -> std::chrono::milliseconds;

}  // namespace rankd
