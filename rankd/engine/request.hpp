// rankd/engine/request.hpp: one request: read, checked, with every name resolved.
#pragma once

#include <rankd/registry/registries.hpp>
#include <rankd/registry/value.hpp>

#include <braid/base/diagnostics.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

enum class explain_mode : std::uint8_t { off, on };

struct rank_request {
  std::string request_id;         ///< as given, or made up from the request's bytes
  std::string engine_request_id;  ///< made up from the request's bytes
  std::string plan;               ///< empty where the request names none
  std::int64_t user_id = 0;
  std::vector<scalar> params;  ///< one for each of registries::params: the override or the default
  std::optional<std::vector<std::uint32_t>> output_keys;  ///< ascending key ids; nothing for all
  std::optional<std::chrono::milliseconds> deadline;
  explain_mode explain = explain_mode::off;
};

/// Reads a request from its JSON text. A user_id is an integer or a string of digits, which may begin with zeros; the
/// empty plan counts as none.
/// Errors: every complaint at once: those of `parse_json` and `object_reader`; bad_user_id, unknown_param,
/// blocked_param, unwritable_param, null_param, unknown_key, blocked_key, unreadable_key, duplicate_value. As many as a
/// person can use.
auto parse_request(std::string_view text, const registries& declared) -> braid::checked<rank_request>;

/// The request_id that stands in a text that was refused, for the answer: as given where it can be read, otherwise made
/// up as `parse_request` does.
auto request_id_of(std::string_view text) -> std::string;

}  // namespace rankd
