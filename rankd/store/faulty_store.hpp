// rankd/store/faulty_store.hpp: fault injection for tests of plans: a store some of whose keys cannot be read.
#pragma once

#include <rankd/store/store.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// The codes that a planted fault may have: those by which requests learn that a store has failed.
inline constexpr std::array<std::string_view, 5> fault_codes{"store_timeout", "store_unreachable", "store_overloaded",
                                                             "store_corrupt", "store_error"};

/// Every batch that asks for a key which begins with `key_prefix` fails.
struct planted_fault {
  std::string key_prefix;  ///< empty: any batch
  std::size_t code = 0;    ///< a position in `fault_codes`
};

/// Passes on what it is asked, but for batches with a planted fault, which fail at once and ask nothing.
/// Threads: as the store behind it. Lifetime: that of the store behind it.
class faulty_store final : public store {
 public:
  faulty_store(store& behind, std::string endpoint_id, std::vector<planted_fault> faults)
      : behind_(&behind), endpoint_id_(std::move(endpoint_id)), faults_(std::move(faults)) {}

  auto hget(key_batch keys, std::string_view field, braid::arena& arena)
      -> braid::task<store_result<field_batch>> override;
  auto hgetall(key_batch keys, braid::arena& arena) -> braid::task<store_result<hash_batch>> override;
  auto lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
      -> braid::task<store_result<id_batch>> override;
  auto read(const named_read& what, braid::arena& arena) -> braid::task<store_result<item_batch>> override;
  auto score(const model_call& what, braid::arena& arena) -> braid::task<store_result<score_batch>> override {
    return behind_->score(what, arena);
  }
  [[nodiscard]] auto explain(const store_error& why) const -> store_failure override;

 private:
  [[nodiscard]] auto fault_of(key_batch keys) const -> const planted_fault*;
  [[nodiscard]] auto fault_of(std::span<const std::string_view> keys) const -> const planted_fault*;

  store* behind_;
  std::string endpoint_id_;
  std::vector<planted_fault> faults_;
};

}  // namespace rankd
