// rankd/store/followed_store.hpp: an embedded store that switches to a newer generation while it is being read.
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

/// The generation of the data from which an embedded store answers.
struct generation_state {
  std::uint64_t generation = 0;
  std::uint64_t records = 0;
  std::chrono::milliseconds made{0};  ///< the time at which the manifest was written, since 1970

  auto operator==(const generation_state&) const -> bool = default;
};

/// A switch to another generation.
struct generation_change {
  generation_state before;
  generation_state after;
};

/// The embedded store in a folder. `refresh` opens and verifies the generation that the folder names now, while the old
/// generation still answers. Then `refresh` switches to the new generation by exchanging one pointer. A store returned
/// by `pinned` keeps its generation, and the disk space of its file, until it is released.
/// Threads: any. Cost: `version` costs one atomic load; `pinned` and each question to this store cost an uncontended
/// lock.
class followed_store final : public store {
 public:
  /// Opens the store in `folder`. Errors: those of embedded_store::open.
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

  /// Switches to the generation that the folder names. Does nothing if that generation is current already, or if a load
  /// is replacing the manifest. The store then claims the new generation, so that the next load can wait until this
  /// store has switched again (`generation_users`). If `refresh` fails, the old generation continues to answer.
  /// Blocks: on the disk, to read the whole new file. Errors: those of embedded_store::open.
  auto refresh() -> braid::checked<std::optional<generation_change>>;

  /// Returns a number that grows whenever the store switches to another generation. A thread that reads this number and
  /// then calls `pinned` gets the generation with this number, or a later generation.
  [[nodiscard]] auto version() const noexcept -> std::uint64_t {
    return version_.load(braid::acquire);  // edge store.generation: observe, the generation is in place before
  }
  [[nodiscard]] auto state() const noexcept -> generation_state;
  /// Returns the data of the current generation. The data stays open as long as the result exists.
  [[nodiscard]] auto data() const -> std::shared_ptr<const embedded_store>;
  [[nodiscard]] auto folder() const noexcept -> const std::filesystem::path& { return folder_; }

 private:
  class generation_store;

  followed_store(std::filesystem::path folder, std::string endpoint_id) noexcept;
  [[nodiscard]] auto current() const noexcept -> std::shared_ptr<generation_store>;
  auto open_generation() const -> braid::checked<std::shared_ptr<generation_store>>;

  const std::filesystem::path folder_;
  const std::string endpoint_id_;

  std::mutex refreshing_;               // held by one refresh from start to end
  std::optional<manifest_use> in_use_;  // guarded by `refreshing_`; not set before the first refresh
  mutable std::mutex mutex_;            // guards `current_`
  std::shared_ptr<generation_store> current_;
  braid::atomic<std::uint64_t> version_{1};  // written by a refresh, after `current_`
};

}  // namespace rankd
