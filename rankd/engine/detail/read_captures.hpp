// rankd/engine/detail/read_captures.hpp: parses the parts of a request that name keys, or nodes to capture.
#pragma once

#include <rankd/engine/detail/diagnostic_list.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/registries.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rankd::detail {

/// Appends the key with this name, if answers may show its values. Errors: wrong_type, unknown_key, blocked_key,
/// unreadable_key, duplicate_value.
void read_key_name(const nlohmann::json& name, const std::string& pointer, const registries& declared,
                   std::vector<std::uint32_t>& into, diagnostic_list problems);

/// Parses `capture`, an array of node names or of objects with further options. Reports at most `max_problems` errors.
void read_captures(object_reader& reader, const registries& declared, rank_request& request, std::size_t max_problems,
                   braid::diagnostics& problems);

}  // namespace rankd::detail
