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

/// Returns the id that a request spells: an integer of 64 bits, or a string of its digits; or a text if ids are texts.
auto id_from_json(const nlohmann::json& value, value_type type) -> std::optional<row_id>;

/// Says what an id must be, and what the value is instead.
auto refused_id(const nlohmann::json& value, value_type type) -> std::string;

/// Reads rows `[{"id": 17, "price": 9.5}, …]` or columns `{"id": [17], "price": [9.5]}`. A value has the type of its
/// key; a field that a row lacks is null. Returns null if something is wrong.
/// Errors: appended until there are `max_problems`: wrong_type, too_many_candidates, missing_field, bad_id,
/// unknown_key, blocked_key, unwritable_key, wrong_length, null_value, out_of_range. A wrong name is reported once.
/// Cost: linear; rows cost about twice as much as columns.
auto read_candidates(const nlohmann::json& value, const registries& declared, std::size_t max_problems,
                     braid::diagnostics& problems) -> std::shared_ptr<const candidate_rows>;

}  // namespace rankd::detail
