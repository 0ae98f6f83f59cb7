// rankd/engine/requests/page_cursors.cpp: signs cursors with HMAC-SHA-256, and verifies them.
#include <rankd/engine/requests/page_cursors.hpp>

#include <rankd/registry/digest.hpp>

#include <braid/base/detail/base64.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <utility>

namespace rankd {
namespace {

constexpr std::size_t identity_bytes = 16;
constexpr std::size_t number_bytes = 8;
constexpr std::size_t signed_bytes = 3 * number_bytes + identity_bytes;
constexpr std::size_t cursor_bytes = signed_bytes + 32;
static_assert(cursor_bytes % 3 == 0, "base64 needs no padding");

auto to_base64url(std::string_view bytes) -> std::string {
  std::string out;
  braid::detail::append_base64(out, bytes, braid::detail::base64_alphabet::url);
  return out;
}

/// Decodes a cursor. Returns nothing if the text is not base64url, or if its length is not that of a cursor.
auto decode_cursor(std::string_view text) -> std::optional<std::string> {
  if (text.size() != cursor_bytes / 3 * 4 || text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
  std::string out(cursor_bytes, '\0');
  return braid::detail::from_base64(text, out) ? std::optional(std::move(out)) : std::nullopt;
}

void append_number(std::string& out, std::uint64_t number) {
  for (unsigned shift = 64; shift > 0; shift -= 8) out += static_cast<char>(number >> (shift - 8) & 255U);
}

auto number_at(std::string_view bytes, std::size_t place) -> std::uint64_t {
  std::uint64_t out = 0;
  for (const char each : bytes.substr(place * number_bytes, number_bytes))
    out = out << 8U | static_cast<unsigned char>(each);
  return out;
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += text;
}

void append_value(std::string& out, const scalar& value) {
  out += static_cast<char>('0' + value.index());
  if (const auto* whole = std::get_if<std::int64_t>(&value)) append_number(out, static_cast<std::uint64_t>(*whole));
  if (const auto* fraction = std::get_if<double>(&value)) append_number(out, std::bit_cast<std::uint64_t>(*fraction));
  if (const auto* flag = std::get_if<bool>(&value)) append_number(out, *flag ? 1 : 0);
  if (const auto* text = std::get_if<std::string>(&value)) append_text(out, *text);
}

void append_id(std::string& out, const row_id& id) {
  out += static_cast<char>('0' + id.index());
  if (const auto* number = std::get_if<std::int64_t>(&id)) append_number(out, static_cast<std::uint64_t>(*number));
  if (const auto* text = std::get_if<std::string>(&id)) append_text(out, *text);
}

auto is_among(const std::vector<std::size_t>& positions, std::size_t position) -> bool {
  return std::ranges::find(positions, position) != positions.end();
}

/// Returns whether the value of a param comes from the clock.
auto is_of_clock(const rank_request& request, const param_entry& param, std::size_t position) -> bool {
  return param.clock && !is_among(request.in_context, position) && !is_among(request.overridden, position) &&
         !is_among(request.set_by_arms, position);
}

auto refused(std::string code, std::string message) -> rank_error {
  return {.code = std::move(code), .message = std::move(message), .node = {}, .pointer = "/cursor"};
}

}  // namespace

auto ranking_identity(const bound_plan& plan, const rank_request& request, const registries& declared) -> std::string {
  std::string all;
  append_text(all, plan.name);
  append_text(all, plan.digest);
  if (request.user_id) append_id(all, *request.user_id);
  all += '/';
  for (std::size_t at = 0; at < request.params.size(); ++at) {
    const param_entry& param = declared.params()[at];
    // Default values are left out, so that replicas with different sets of params accept each other's cursors.
    if (is_of_clock(request, param, at) || request.params[at] == param.default_value) continue;
    append_text(all, param.name);
    append_value(all, request.params[at]);
  }
  if (request.candidates != nullptr)
    for (std::uint32_t row = 0; row < request.candidates->rows.size(); ++row)
      append_id(all, request.candidates->rows.id(row));
  return sha256_hex(all).substr(0, identity_bytes);
}

auto page_cursors::sign(const page_place& place, std::string_view identity, std::chrono::milliseconds now) const
    -> std::string {
  std::string bytes;
  append_number(bytes, place.begin);
  append_number(bytes, static_cast<std::uint64_t>(place.first.count()));
  append_number(bytes, static_cast<std::uint64_t>(now.count()));
  bytes += identity;
  return to_base64url(bytes + hmac_sha256(settings_.key, bytes));
}

auto page_cursors::read(std::string_view cursor, std::string_view identity, std::chrono::milliseconds now) const
    -> std::expected<page_place, rank_error> {
  const auto bytes = decode_cursor(cursor);
  const auto content = bytes ? std::string_view(*bytes).substr(0, signed_bytes) : std::string_view();
  if (!bytes ||
      !equal_in_constant_time(std::string_view(*bytes).substr(signed_bytes), hmac_sha256(settings_.key, content)))
    return std::unexpected(
        refused("bad_cursor", "this cursor was not issued by this service: pass `next_cursor` of an answer unchanged"));
  if (content.substr(3 * number_bytes) != identity)
    return std::unexpected(refused("foreign_cursor",
                                   "the cursor belongs to a request with another plan, user, list of candidates or set "
                                   "of params: these must be the same for all pages of a ranking"));
  const auto age = now - std::chrono::milliseconds(number_at(content, 2));
  if (age > settings_.max_age)
    return std::unexpected(refused("expired_cursor", "the cursor is older than " +
                                                         std::to_string(settings_.max_age.count()) +
                                                         " s: begin again with the first page, without a cursor"));
  return page_place{.begin = number_at(content, 0), .first = std::chrono::milliseconds(number_at(content, 1))};
}

auto make_page_cursors(const cursor_settings& settings) -> std::shared_ptr<const page_cursors> {
  return settings.key.empty() ? nullptr : std::make_shared<const page_cursors>(settings);
}

auto find_page(rank_request& request, const bound_plan& plan, const registries& declared, const page_cursors* cursors)
    -> std::optional<rank_error> {
  if (!plan.page_node) return std::nullopt;
  if (cursors == nullptr)
    return rank_error{.code = "no_cursor_key",
                      .message = "the plan returns pages, but there is no key for signing cursors: set " +
                                 std::string(cursor_key_variable) + ", or `key` of `[cursor]` in rankd.toml",
                      .node = plan.nodes[*plan.page_node].node_id,
                      .pointer = {}};
  if (request.time.count() == 0) request.time = milliseconds_now();
  page_place place{.begin = 0, .first = request.time};
  request.page.identity = ranking_identity(plan, request, declared);
  if (request.cursor) {
    auto read = cursors->read(*request.cursor, request.page.identity, place.first);
    if (!read) return std::move(read.error());
    place = *read;
  }
  request.page.begin = place.begin;
  request.page.first = place.first;
  for (std::size_t at = 0; at < request.params.size(); ++at) {
    const param_entry& param = declared.params()[at];
    if (!is_of_clock(request, param, at)) continue;
    const bool seconds = *param.clock == clock_unit::seconds;
    request.params[at] = seconds ? std::chrono::duration_cast<std::chrono::seconds>(place.first).count()
                                 : static_cast<std::int64_t>(place.first.count());
  }
  return std::nullopt;
}

auto page_cursors::sign_again(std::string_view cursor, std::optional<std::string_view> identity) const
    -> std::optional<std::string> {
  const auto bytes = decode_cursor(cursor);
  if (!bytes) return std::nullopt;
  std::string content = bytes->substr(0, signed_bytes);
  if (identity) content.replace(3 * number_bytes, identity_bytes, *identity);
  return to_base64url(content + hmac_sha256(settings_.key, content));
}

auto milliseconds_now() noexcept -> std::chrono::milliseconds {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace rankd
