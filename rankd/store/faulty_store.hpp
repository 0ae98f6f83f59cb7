// rankd/store/faulty_store.hpp: fault injection for tests of plans: a store that fails to read some keys.
#pragma once

#include <rankd/store/store_layer.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// The codes that a planted fault may have. Requests report failures of real stores with the same codes.
inline constexpr std::array<std::string_view, 5> fault_codes{"store_timeout", "store_unreachable", "store_overloaded",
                                                             "store_corrupt", "store_error"};

/// A planted fault: every batch that reads a key with the prefix `key_prefix` fails.
struct planted_fault {
  std::string key_prefix;  ///< empty: every batch fails
  std::size_t code = 0;    ///< a position in `fault_codes`
};

/// A store layer that fails batches with a planted fault at once, and passes all other questions to the store behind
/// it.
/// Threads: the same as for the store behind it. Lifetime: the store behind it must outlive this layer.
class faulty_store final : public store_layer {
 public:
  faulty_store(store& behind, std::string endpoint_id, std::vector<planted_fault> faults)
      : store_layer(behind), endpoint_id_(std::move(endpoint_id)), faults_(std::move(faults)) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override;
  [[nodiscard]] auto explain(const store_error& error) const -> store_failure override;
  /// Returns false, so that plans share the reads of a store under test, as they share the reads of a remote store.
  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return false; }

 private:
  [[nodiscard]] auto find_fault(const store_question& question) const -> const planted_fault*;

  std::string endpoint_id_;
  std::vector<planted_fault> faults_;
};

}  // namespace rankd
