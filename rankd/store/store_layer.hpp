// rankd/store/store_layer.hpp: the base class of stores that change the answers of another store.
#pragma once

#include <rankd/store/store.hpp>

#include <cstdint>
#include <string>

namespace rankd {

/// A store that forwards all calls to the store behind it. A derived class overrides the calls that it changes. It also
/// overrides `pinned`, unless requests may pin the store behind it directly. Threads: the same as for the store behind
/// it. Lifetime: the store behind it must outlive this layer.
class store_layer : public store {
 public:
  explicit store_layer(store& behind) noexcept : inner_(&behind) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    return inner_->ask(question, arena);
  }
  [[nodiscard]] auto explain(const store_error& error) const -> store_failure override {
    return inner_->explain(error);
  }
  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return inner_->answers_at_once(); }
  auto report_changes(braid::home& home, braid::redis_tracker& to) -> bool override {
    return inner_->report_changes(home, to);
  }
  auto scrub(std::uint64_t max_bytes) -> scrub_step override { return inner_->scrub(max_bytes); }
  [[nodiscard]] auto damage() const -> std::string override { return inner_->damage(); }
  [[nodiscard]] auto followed() noexcept -> followed_store* override { return inner_->followed(); }
  [[nodiscard]] auto generation() const noexcept -> std::uint64_t override { return inner_->generation(); }

 protected:
  [[nodiscard]] auto behind() const noexcept -> store& { return *inner_; }

 private:
  store* inner_;
};

}  // namespace rankd
