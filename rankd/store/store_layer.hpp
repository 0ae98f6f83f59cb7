// rankd/store/store_layer.hpp: the base of stores that change what another store answers.
#pragma once

#include <rankd/store/store.hpp>

#include <cstdint>
#include <string>

namespace rankd {

/// A store that passes everything on to the store behind it. A class that derives from it overrides what it changes.
/// Threads: as the store behind it. Lifetime: the store behind it must outlive it.
class store_layer : public store {
 public:
  explicit store_layer(store& behind) noexcept : behind_(&behind) {}

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override {
    return behind_->ask(question, arena);
  }
  [[nodiscard]] auto explain(const store_error& why) const -> store_failure override { return behind_->explain(why); }
  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return behind_->answers_at_once(); }
  auto scrub(std::uint64_t max_bytes) -> scrub_step override { return behind_->scrub(max_bytes); }
  [[nodiscard]] auto damage() const -> std::string override { return behind_->damage(); }

 protected:
  [[nodiscard]] auto behind() const noexcept -> store& { return *behind_; }

 private:
  store* behind_;
};

}  // namespace rankd
