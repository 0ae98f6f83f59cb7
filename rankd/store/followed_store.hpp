// rankd/store/followed_store.hpp: an embedded store that changes to a newer generation while it is read.
#pragma once

#include <rankd/store/embedded.hpp>
#include <rankd/store/store.hpp>

#include <braid/sync/atomic.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace rankd {

/// The data that an embedded store answers from.
struct generation_state {
  std::uint64_t generation = 0;
  std::uint64_t records = 0;
  std::chrono::milliseconds made{0};  ///< since 1970: when its manifest was written

  auto operator==(const generation_state&) const -> bool = default;
};

/// A change to another generation.
struct generation_change {
  generation_state before;
  generation_state after;
};

/// The embedded store in a folder. `refresh` opens the generation that the folder names now, verifies it beside the one
/// that answers, and then exchanges one pointer. Whoever holds `pinned` keeps its generation, which costs disk space
/// until the last holder releases it.
/// Threads: any. Cost: `version` is one load; `pinned` and each question to this store take an uncontended lock.
class followed_store final : public store {
 public:
  /// Errors: those of embedded_store::open.
  static auto open(std::filesystem::path folder, std::string endpoint_id)
      -> braid::checked<std::unique_ptr<followed_store>>;
  ~followed_store() override;

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override;
  [[nodiscard]] auto explain(const store_error& error) const -> store_failure override;
  [[nodiscard]] auto answers_at_once() const noexcept -> bool override { return true; }
  auto scrub(std::uint64_t max_bytes) -> scrub_step override;
  [[nodiscard]] auto damage() const -> std::string override;
  [[nodiscard]] auto pinned() -> std::shared_ptr<store> override;
  [[nodiscard]] auto followed() noexcept -> followed_store* override { return this; }
  [[nodiscard]] auto generation() const noexcept -> std::uint64_t override { return state().generation; }

  /// Changes to the generation that the folder names; does nothing if that is the one which answers, or if a load is
  /// just replacing it. From then on a load can wait until this store has changed again (`generation_users`). If it
  /// fails, the old generation continues to answer.
  /// Blocks: reads the whole new file. Errors: those of embedded_store::open.
  auto refresh() -> braid::checked<std::optional<generation_change>>;

  /// Returns a number that grows whenever the store has changed to another generation. A thread that sees it gets that
  /// generation, or a later one, from `pinned`.
  [[nodiscard]] auto version() const noexcept -> std::uint64_t {
    return version_.load(braid::acquire);  // edge store.generation: observe, the generation is in place before
  }
  [[nodiscard]] auto state() const noexcept -> generation_state;
  [[nodiscard]] auto folder() const noexcept -> const std::filesystem::path& { return folder_; }

 private:
  class generation_store;

  followed_store(std::filesystem::path folder, std::string endpoint_id) noexcept;
  [[nodiscard]] auto current() const noexcept -> std::shared_ptr<generation_store>;
  auto open_generation() const -> braid::checked<std::shared_ptr<generation_store>>;

  const std::filesystem::path folder_;
  const std::string endpoint_id_;

  std::mutex refreshing_;               // held by one refresh from start to end
  std::optional<manifest_use> in_use_;  // under it; nothing before the first refresh
  mutable std::mutex mutex_;            // guards `current_`
  std::shared_ptr<generation_store> current_;
  braid::atomic<std::uint64_t> version_{1};  // written by a refresh, after `current_`
};

}  // namespace rankd
