// rankd/engine/detail/read_candidates.hpp: converts the `candidates` of a request from JSON values to typed columns.
#pragma once

#include <rankd/op/candidates.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/row_id.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace rankd::detail {

/// Parses an id in a request. If the project has string ids, the id is a string. Otherwise, it is a 64-bit integer, or
/// a string of its digits.
auto id_from_json(const nlohmann::json& value, value_type type) -> std::optional<row_id>;

/// Returns the second half of a message about an invalid id. It states what an id must be, and what the value is.
auto refused_id(const nlohmann::json& value, value_type type) -> std::string;

/// Parses rows `[{"id": 17, "price": 9.5}, …]` or columns `{"id": [17], "price": [9.5]}`. A value must have the type of
/// its key, and a field that a row lacks is null. Returns null after an error.
/// Errors: at most `max_problems` are reported: wrong_type, too_many_candidates, missing_field, bad_id, unknown_key,
/// blocked_key, unwritable_key, wrong_length, null_value, out_of_range. An invalid name is reported only once.
/// Cost: linear; rows cost about twice as much as columns.
auto read_candidates(const nlohmann::json& value, const registries& declared, std::size_t max_problems,
                     braid::diagnostics& problems) -> std::shared_ptr<const candidate_rows>;

}  // namespace rankd::detail
