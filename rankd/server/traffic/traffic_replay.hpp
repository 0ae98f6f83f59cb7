// rankd/server/traffic/traffic_replay.hpp: runs recorded requests again, using only recorded data.
#pragma once

#include <rankd/engine/engine.hpp>
#include <rankd/engine/requests/page_cursors.hpp>
#include <rankd/server/traffic/traffic_file.hpp>
#include <rankd/server/traffic/traffic_images.hpp>

#include <braid/base/error.hpp>
#include <braid/runtime/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The result of running a request again.
enum class replay_result : std::uint8_t {
  equal,      ///< the answer has the same bytes
  different,  ///< the answer has other bytes
  missing,    ///< the answer has other bytes, or the request did not run, because a read is not in the record
  timed,      ///< the request did not run, because its time had run out, and a replay takes a different time
  redacted,   ///< the request did not run, because it is only partly recorded
  unusable,   ///< the request did not run, because the record does not have its plan, or it cannot be read
};

struct replayed_request {
  std::uint64_t number = 0;  ///< the number in the record, from 0
  std::string request_id;
  std::string plan;
  replay_result result = replay_result::unusable;
  std::string recorded;  ///< the recorded answer, and the new answer; empty if the request did not run
  std::string replayed;
  std::string why;  ///< a sentence for `missing`, `timed`, `redacted` and `unusable`
};

/// Reads the frames of a file in their order, and runs its requests, several at the same time. Each answer is compared
/// with the recorded answer byte for byte. Only the signatures of cursors are not compared, because the record does not
/// contain the cursor key. Threads: one at a time.
class traffic_replay {
 public:
  struct settings {
    std::vector<std::filesystem::path> plans;  ///< files of plans that replace the recorded plans
    std::string request_id;                    ///< runs only this request; empty: all requests
    std::filesystem::path vectors = {};  ///< the root folder of the project with the files of vectors; empty: none
    unsigned workers = 0;                ///< threads that run requests; 0: as many as the machine grants
  };

  explicit traffic_replay(settings settings) : settings_(std::move(settings)) {}
  ~traffic_replay();

  /// Processes the next frame. Returns the result if the frame is a request. If a plan or its fallback plan searches a
  /// file of vectors that is not available, or that differs from the recorded file, the plan cannot run. Its requests
  /// then have the result `missing`.
  /// Errors: not_traffic for a frame that cannot be read, or that precedes the project frame; those of
  /// `recorded_world`; no_runtime.
  auto take(const traffic_reader::frame& frame) -> braid::checked<std::optional<replayed_request>>;

  /// Processes several frames, and runs their requests on all threads. Returns the results in the order of the frames.
  /// Errors: those of `take`, for the first frame that cannot be processed.
  auto take_all(std::span<const traffic_reader::frame> frames) -> braid::checked<std::vector<replayed_request>>;

  /// Returns the names of the plans in the settings to which no recorded request was sent.
  [[nodiscard]] auto unused_plans() const -> std::vector<std::string>;

  /// Returns how many requests are missing in the record, according to the gaps in the request numbers.
  [[nodiscard]] auto lost() const noexcept -> std::uint64_t { return next_number_ - std::min(taken_, next_number_); }

 private:
  /// A plan that cannot be run.
  struct left_out_plan {
    std::string name;
    std::string why;
  };

  /// The resources of one thread that runs requests: an engine, and a loop with its worker.
  struct lane {
    std::optional<engine> ranker;  // used by the last tasks of the runtime
    std::unique_ptr<braid::runtime> on;
  };

  auto read(const traffic_reader::frame& frame) -> braid::checked<std::optional<recorded_request>>;
  auto begin(const recorded_project& project) -> braid::checked<void>;
  auto add(const recorded_plan& plan) -> braid::checked<void>;
  void run_all(std::span<const recorded_request> requests, std::span<replayed_request> results);
  auto run(const recorded_request& recorded, lane& runner) const -> replayed_request;
  auto answer(const recorded_request& recorded, const std::shared_ptr<const bound_plan>& plan, rank_request request,
              lane& runner, replayed_request& out) const -> std::string;
  [[nodiscard]] auto signed_again(std::string_view answer, std::optional<std::string_view> identity = {}) const
      -> std::string;

  settings settings_;
  std::unique_ptr<recorded_world> world_;
  std::map<std::uint32_t, left_out_plan> left_out_;  // by the numbers of the plans
  std::shared_ptr<const page_cursors> cursors_;
  std::vector<std::unique_ptr<lane>> lanes_;
  std::uint64_t next_number_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace rankd
