// braid/sync/detail/producer_table.hpp: which producer the calling thread has into which inbox.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/detail/inbox_producer.hpp>

#include <cstdint>
#include <memory>

namespace braid::detail {

/// The thread's knowledge of an inbox. If the inbox is known but the producer is null, the thread posts to the shared
/// producer.
struct known_producer {
  bool known = false;
  inbox_producer_base* producer = nullptr;
};

/// Inboxes are distinguished by numbers that are never used again, so that an entry may outlive its inbox.
[[nodiscard]] BRAID_API auto next_inbox_number() noexcept -> std::uint64_t;

/// Cost: a call and one comparison for the inboxes that the thread has used last.
[[nodiscard]] BRAID_API auto find_producer(std::uint64_t inbox) noexcept -> known_producer;

/// Stores the producer, or null for the shared one; returns it to the inbox when the thread ends.
/// Errors: std::bad_alloc.
BRAID_API void remember_producer(std::uint64_t inbox, std::shared_ptr<inbox_producer_base> producer);

}  // namespace braid::detail
