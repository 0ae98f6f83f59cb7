// tests/rankd/server/closed_store.hpp: a store that answers every read with `closed`; tests derive what they need.
#pragma once

#include <rankd/store/store.hpp>

namespace rankd::testing {

class closed_store : public store {
 public:
  auto hget(key_batch /*keys*/, std::string_view /*field*/, braid::arena& /*memory*/)
      -> braid::task<store_result<field_batch>> override {
    co_return braid::fail(braid::errc::closed);
  }
  auto hgetall(key_batch /*keys*/, braid::arena& /*memory*/) -> braid::task<store_result<hash_batch>> override {
    co_return braid::fail(braid::errc::closed);
  }
  auto lrange_ids(key_batch /*keys*/, std::uint32_t /*first*/, braid::arena& /*memory*/)
      -> braid::task<store_result<id_batch>> override {
    co_return braid::fail(braid::errc::closed);
  }
  auto read(const named_read& /*what*/, braid::arena& /*memory*/) -> braid::task<store_result<item_batch>> override {
    co_return braid::fail(braid::errc::closed);
  }
};

}  // namespace rankd::testing
