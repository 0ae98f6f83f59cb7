// tests/rankd/server/closed_store.hpp: a store that answers every question with `closed`; tests derive what they need.
#pragma once

#include <rankd/store/store.hpp>

namespace rankd::testing {

class closed_store : public store {
 public:
  auto ask(store_question /*question*/, braid::arena& /*memory*/) -> braid::task<store_result<store_answer>> override {
    co_return braid::fail(braid::errc::closed);
  }
};

}  // namespace rankd::testing
