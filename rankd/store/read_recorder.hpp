// rankd/store/read_recorder.hpp: records the questions of one request to its stores, together with the answers.
#pragma once

#include <rankd/store/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// Records the batches of one request to its stores, with their answers, in the format of `replayed_reads`. If a
/// question always had the same answer, it is recorded once. If its answers differed, it is recorded each time, in the
/// order of the questions. Answers that arrive after `take` are not recorded. Threads: one at a time, such as the loop
/// of the request. Lifetime: the recorded stores must outlive the recorder.
class read_recorder {
 public:
  /// The maximum number of recorded bytes of one request.
  static constexpr std::size_t max_kept = std::size_t{32} << 20U;

  /// Reserves memory for `usual_bytes` of recorded batches.
  explicit read_recorder(const std::vector<store*>& behind, std::size_t usual_bytes = 0);
  /// Records the batches of these stores, and also keeps the stores alive.
  explicit read_recorder(store_list behind, std::size_t usual_bytes = 0) : read_recorder(*behind, usual_bytes) {
    kept_ = std::move(behind);
  }
  ~read_recorder();
  read_recorder(const read_recorder&) = delete;
  auto operator=(const read_recorder&) -> read_recorder& = delete;

  /// Returns the recording stores for the request. They keep the recorder alive.
  [[nodiscard]] static auto list_stores(const std::shared_ptr<read_recorder>& recorder) -> store_list {
    return {recorder, &recorder->pointers_};
  }

  /// Returns the reads so far, and stops recording.
  auto take() -> std::string;
  /// Returns whether the request read more than `max_kept` bytes. This function may also be called after `take`.
  [[nodiscard]] auto is_cut() const noexcept -> bool { return is_cut_; }

 private:
  class client;
  /// The positions of a question and its answer in the recorded bytes.
  struct piece {
    std::size_t begin = 0;
    std::size_t answer = 0;
    std::size_t end = 0;
    bool has_other = false;  // whether this question has a different answer in another piece
  };
  struct asking {
    std::uint64_t number = 0;
    std::size_t piece = 0;
  };

  void keep(std::size_t begin, std::size_t answer, std::uint64_t number);
  [[nodiscard]] auto in_order() -> std::string;

  store_list kept_;                               // null if others keep the stores alive
  std::vector<std::unique_ptr<client>> clients_;  // null if there is no store
  std::vector<store*> pointers_;
  std::string bytes_;
  std::vector<piece> pieces_;    // the batches in `bytes_`, in the order of their answers
  std::vector<asking> askings_;  // questions that were answered
  std::uint64_t asked_ = 0;
  bool has_changed_ = false;  // whether an answer has changed
  bool is_open_ = true;
  bool is_cut_ = false;
};

}  // namespace rankd
