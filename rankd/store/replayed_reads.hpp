// rankd/store/replayed_reads.hpp: stores that answer only from the recorded reads of a request.
#pragma once

#include <rankd/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace rankd {

/// Stores that answer from the recorded reads of one request, as `read_recorder` has recorded them. A batch that was
/// recorded gets its recorded answer. If the same batch was recorded with different answers, they are returned in the
/// recorded order. Any other batch of the same kind is assembled key by key from recorded batches. Its number of
/// malformed elements is unknown, so 0 is used. A recorded read of a list also answers reads of fewer elements. If a
/// key was not recorded, the batch is sent to a live store, or fails with `read_not_recorded` if there is no live
/// store.
/// Threads: one at a time. Lifetime: `declared` must outlive the stores. Cost: the memory of the recorded bytes, and a
/// little for each batch. After the first batch was assembled, also about 100 bytes for each key of all batches.
class replayed_reads {
 public:
  /// Parses recorded reads. Returns null if the bytes are not recorded reads. `live` has one store for each of
  /// registries::endpoints, or is null.
  [[nodiscard]] static auto parse(std::string bytes, const registries& declared, store_list live = nullptr)
      -> std::shared_ptr<replayed_reads>;

  ~replayed_reads();
  replayed_reads(const replayed_reads&) = delete;
  auto operator=(const replayed_reads&) -> replayed_reads& = delete;

  /// Returns the stores. They keep the recorded reads alive.
  [[nodiscard]] static auto list_stores(const std::shared_ptr<replayed_reads>& from) -> store_list {
    return {from, &from->pointers_};
  }

  /// Returns the first requested key that was not recorded, with its endpoint. Returns an empty text if all requested
  /// keys were recorded.
  [[nodiscard]] auto missing() const noexcept -> const std::string& { return missing_; }
  [[nodiscard]] auto batches() const noexcept -> std::size_t { return batches_.size(); }
  /// Returns the number of batches that were sent to live stores.
  [[nodiscard]] auto live_batches() const noexcept -> std::uint64_t { return live_batches_; }

 private:
  class client;
  struct batch {
    std::uint64_t endpoint = 0;
    std::string_view question;  ///< the head and the keys of the question
    std::string_view head;
    std::size_t count = 0;  ///< the number of keys
    std::string_view keys;  ///< the keys, one after the other
    bool is_answered = false;
    std::uint64_t malformed = 0;
    std::string_view found;  ///< the values of all keys, one after the other
    store_failure failure;
    bool is_used = false;
    std::string made;  ///< contains the data that `found` refers to, if the answer was assembled
  };
  using place = std::tuple<std::uint64_t, std::string_view, std::string_view>;  // an endpoint, a head and a key

  /// The first elements of a list, as recorded.
  struct list_part {
    std::uint64_t first = 0;  ///< the number of requested elements
    std::string_view found;
  };

  replayed_reads(std::string bytes, const registries& declared, store_list live);
  auto read_all() -> bool;
  auto find(std::uint64_t endpoint, std::string_view question) -> const batch*;
  auto assembled(std::uint64_t endpoint, std::string_view question) -> const batch*;
  [[nodiscard]] auto part_of_list(std::uint64_t endpoint, std::string_view head, std::string_view key) const
      -> std::optional<std::string>;
  [[nodiscard]] auto live_store(std::uint64_t endpoint) const noexcept -> store*;
  void list_keys();

  std::string bytes_;
  const registries* declared_;
  std::vector<batch> batches_;
  std::map<place, std::string_view> by_key_;       // the values of keys; filled when it is first needed
  std::map<place, std::vector<list_part>> lists_;  // by endpoint, prefix and key; filled together with `by_key_`
  std::vector<std::unique_ptr<batch>> made_;       // assembled batches
  std::vector<std::unique_ptr<client>> clients_;   // null if an endpoint is a file of vectors
  std::vector<store*> pointers_;
  std::string missing_;
  store_list live_;
  std::uint64_t live_batches_ = 0;
};

}  // namespace rankd
