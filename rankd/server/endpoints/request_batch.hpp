// rankd/server/endpoints/request_batch.hpp: splits the body of a batch into the texts of its requests.
#pragma once

#include <braid/base/error.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace rankd {

/// Returns the texts of the requests in `{"requests": [...]}`, in order, without the spaces around them.
/// `parse_request` checks whether a text is a request, or JSON at all: a wrong text does not affect the others, as long
/// as its brackets and quotes show where it ends. A text of more than `max_requests` is refused, without reading
/// further.
/// Lifetime: the texts point into `body`. Cost: linear, without a tree of values.
/// Errors: batch_too_large; for a body of another shape those of `parse_json` and `object_reader`: json_syntax,
/// wrong_type, missing_field, unknown_field, …
auto split_batch(std::string_view body, std::size_t max_requests) -> braid::checked<std::vector<std::string_view>>;

}  // namespace rankd
