// braid/sync/detail/producer_table.hpp: a table that each thread has. It stores the thread's producer for each inbox to
// which the thread posts.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/detail/inbox_producer.hpp>

#include <cstdint>
#include <memory>

namespace braid::detail {

/// An entry of the table. If the inbox is known but the producer is null, the thread posts to the shared producer.
struct known_producer {
  bool known = false;
  inbox_producer_base* producer = nullptr;
};

/// Returns a new number for an inbox. Numbers are never reused, so that a table entry may outlive its inbox.
[[nodiscard]] BRAID_API auto next_inbox_number() noexcept -> std::uint64_t;

/// Returns the calling thread's entry for an inbox. Cost: a call and one comparison if the thread used the inbox
/// recently.
[[nodiscard]] BRAID_API auto find_producer(std::uint64_t inbox) noexcept -> known_producer;

/// Stores the producer of the calling thread, or null if the thread uses the shared producer. When the thread ends, the
/// producer is returned to the inbox.
/// Errors: std::bad_alloc.
BRAID_API void remember_producer(std::uint64_t inbox, std::shared_ptr<inbox_producer_base> producer);

}  // namespace braid::detail
