// rankd/server/endpoints/request_batch.hpp: splits the body of a batch into the texts of its requests.
#pragma once

#include <braid/base/error.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace rankd {

/// Returns the texts of the requests in `{"requests": [...]}`, in order, without surrounding spaces. Does not check
/// whether a text is a valid request, or even valid JSON, because `parse_request` checks that. So an invalid request
/// does not affect the other requests of the batch, as long as its brackets and quotes match. Refuses a batch of more
/// than `max_requests` without reading further.
/// Lifetime: the texts point into `body`. Cost: linear. Builds no tree of values.
/// Errors: batch_too_large; for a body of another form, those of `parse_json` and `object_reader`: json_syntax,
/// wrong_type, missing_field, unknown_field, …
auto split_batch(std::string_view body, std::size_t max_requests) -> braid::checked<std::vector<std::string_view>>;

}  // namespace rankd
