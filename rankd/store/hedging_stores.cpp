// rankd/store/hedging_stores.cpp: stores that mark what passes through them.
#include <rankd/store/hedging_stores.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace rankd {

/// One of the stores.
class hedging_stores::client final : public store {
 public:
  client(store& behind, braid::duration after) noexcept : behind_(&behind), after_(after) {}

  auto hget(key_batch keys, std::string_view field, braid::arena& arena)
      -> braid::task<store_result<field_batch>> override {
    return behind_->hget(marked(keys), field, arena);
  }
  auto hgetall(key_batch keys, braid::arena& arena) -> braid::task<store_result<hash_batch>> override {
    return behind_->hgetall(marked(keys), arena);
  }
  auto lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
      -> braid::task<store_result<id_batch>> override {
    return behind_->lrange_ids(marked(keys), first, arena);
  }
  auto read(const named_read& what, braid::arena& arena) -> braid::task<store_result<item_batch>> override {
    return ask(*behind_, marked(what), arena);
  }
  auto score(const model_call& what, braid::arena& arena) -> braid::task<store_result<score_batch>> override {
    return behind_->score(what, arena);
  }

  [[nodiscard]] auto explain(const store_error& why) const -> store_failure override { return behind_->explain(why); }
  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return behind_->answers_at_once(); }
  auto scrub(std::uint64_t max_bytes) -> scrub_step override { return behind_->scrub(max_bytes); }
  [[nodiscard]] auto damage() const -> std::string override { return behind_->damage(); }

 private:
  template <typename Question>
  [[nodiscard]] auto marked(Question what) const noexcept -> Question {
    what.hedge = {.after = after_};
    return what;
  }

  /// The task behind refers to the question, which lies in this one.
  static auto ask(store& behind, named_read what, braid::arena& arena) -> braid::task<store_result<item_batch>> {
    auto asking = behind.read(what, arena);
    co_return co_await std::move(asking);
  }

  store* behind_;
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
