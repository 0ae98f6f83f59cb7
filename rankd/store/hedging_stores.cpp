// rankd/store/hedging_stores.cpp: implements stores that mark reads, so that a slow read is sent a second time.
#include <rankd/store/hedging_stores.hpp>

#include <rankd/store/store_layer.hpp>

namespace rankd {

/// Marks the questions to one of the stores for hedging.
class hedging_stores::client final : public store_layer {
 public:
  client(store& behind, braid::duration after) noexcept : store_layer(behind), after_(after) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    if (read_hedge* const hedge = find_hedge(question)) *hedge = {.after = after_};
    return behind().ask(question, arena);
  }

 private:
  braid::duration after_;
};

hedging_stores::hedging_stores(std::span<store* const> behind, braid::duration after) {
  clients_.reserve(behind.size());
  pointers_.reserve(behind.size());
  for (store* const each : behind) {
    clients_.push_back(each == nullptr ? nullptr : std::make_unique<client>(*each, after));
    pointers_.push_back(clients_.back().get());
  }
}

hedging_stores::~hedging_stores() = default;

}  // namespace rankd
