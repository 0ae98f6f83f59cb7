// rankd/server/traffic/traffic_writer.hpp: records the traffic of a server in a file, on a separate thread.
#pragma once

#include <rankd/engine/plans/plan_set.hpp>
#include <rankd/server/files/append_log.hpp>
#include <rankd/server/traffic/traffic_file.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>
#include <braid/sync/atomic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The reason why a request that should be recorded is not in the file.
enum class traffic_loss : std::uint8_t {
  queue,  ///< too many bytes wait for the disk
  write,  ///< the system refused to write, or the request is too large for a frame
  limit,  ///< the file has reached its maximum size
  plan,   ///< the files of the plan have changed since the plan was bound
};
inline constexpr std::array<std::string_view, 4> traffic_loss_names{"queue", "write", "limit", "plan"};

struct traffic_counts {
  std::uint64_t recorded = 0;  ///< requests that are in the file
  std::uint64_t bytes = 0;     ///< the size of the file
  std::array<std::uint64_t, traffic_loss_names.size()> lost{};

  [[nodiscard]] auto all_lost() const noexcept -> std::uint64_t;
};

struct traffic_options {
  double share = 1;  ///< the share of the requests that are recorded, evenly distributed
  std::uint64_t max_bytes = std::uint64_t{1} << 30U;  ///< the maximum size of the file
  std::size_t max_waiting = std::size_t{64} << 20U;   ///< bytes that wait to be written
  /// Returns the image of a plan, with all files from which the plan was made. The numbers in the image are not set.
  /// Called by the writing thread.
  std::function<braid::checked<recorded_plan>(const bound_plan&)> make_image = {};
  /// Called by the writing thread once for each plan whose image cannot be made or is too large.
  std::function<void(const bound_plan&, const braid::diagnostics&)> on_no_image = {};
  const braid::clock_source* clock = &braid::steady_time();  ///< read by the writing thread
};

/// Accepts frames from loops and writes them on a separate thread, because a loop must not wait for a disk. Lost frames
/// are counted, and leave gaps in the request numbers of the file. A plan is written before its first request. If
/// writing the plan fails, the writer tries again only a minute later, so that it does not read the plan's files for
/// each request. Accepted frames are written before the object is destroyed. If the program is killed, the frames of
/// the last tenth of a second are lost, and the last frame may be partial.
/// Threads: any.
class traffic_writer {
 public:
  /// Creates the file, accessible to its owner only. Errors: file_exists, unwritable_file, no_runtime.
  static auto open(const std::filesystem::path& file, const recorded_project& project, traffic_options options)
      -> braid::checked<std::unique_ptr<traffic_writer>>;
  /// Writes to an open, empty file. Errors: unwritable_file, no_runtime.
  static auto on(braid::descriptor file, const recorded_project& project, traffic_options options)
      -> braid::checked<std::unique_ptr<traffic_writer>>;

  ~traffic_writer();
  traffic_writer(const traffic_writer&) = delete;
  auto operator=(const traffic_writer&) -> traffic_writer& = delete;

  /// Returns whether the next request should be recorded. Always returns false after a request that would have exceeded
  /// the maximum size of the file.
  [[nodiscard]] auto wants_next() noexcept -> bool;
  /// Queues the frame of a request to a plan, and sets its numbers. The frame is lost if memory for it cannot be
  /// allocated. Blocks: only for a short time.
  void add(const plan_handle& plan, std::string_view frame) noexcept;
  /// Counts a request that should be recorded but has no frame.
  void lose(traffic_loss loss) noexcept;

  [[nodiscard]] auto counts() const -> traffic_counts { return log_.counts(); }

 private:
  friend append_log<traffic_writer>;
  using counts_type = traffic_counts;
  struct item {
    plan_handle plan;
    std::uint32_t number = 0;  // the number of the plan
    std::size_t size = 0;      // the size of the frame
  };
  /// Consecutive frames, with their plans and sizes.
  struct batch {
    std::string bytes;
    std::vector<item> items;

    [[nodiscard]] auto empty() const noexcept -> bool { return items.empty(); }
    [[nodiscard]] auto size() const noexcept -> std::size_t { return bytes.size(); }
    void clear();
  };
  struct known_plan_number {
    std::weak_ptr<const bound_plan> plan;
    std::uint32_t number = 0;
  };
  /// The progress of writing the image of a plan.
  struct image {
    bool is_written = false;
    bool is_reported = false;   // whether a missing image was reported
    traffic_loss why{};         // why the last attempt has failed
    braid::time_point again{};  // when the next attempt is made
  };

  traffic_writer(braid::descriptor file, traffic_options options);
  auto start(const recorded_project& project) -> braid::checked<void>;
  auto number_of(const plan_handle& plan) -> std::uint32_t;
  void write(batch& taken, append_then then);
  void lose(const batch& taken) noexcept;
  auto plan_loss(const plan_handle& plan, std::uint32_t number) noexcept -> std::optional<traffic_loss>;
  auto has_plan(const plan_handle& plan, std::uint32_t number) -> std::optional<traffic_loss>;
  auto write_plan(const plan_handle& plan, std::uint32_t number, image& state) -> std::optional<traffic_loss>;
  auto write_bytes(std::string_view bytes) -> std::size_t;
  void count(std::uint64_t recorded, std::uint64_t lost, traffic_loss loss);

  traffic_options options_;
  braid::descriptor file_;                 // only the writing thread uses this member and the next members
  std::uint64_t size_ = 0;                 // the size of the header and of all complete frames
  std::map<std::uint32_t, image> images_;  // by the number of the plan
  bool is_broken_ = false;                 // whether the file ends with a partial frame that cannot be removed

  braid::atomic<bool> is_full_{false};    // whether the file is full; written by the writing thread
  braid::atomic<std::uint64_t> seen_{0};  // the number of requests, recorded or not; written by the loops
  // The mutex of the log guards this member and the members below.
  std::map<const bound_plan*, known_plan_number> numbers_;
  std::uint32_t last_plan_ = 0;
  std::uint64_t next_request_ = 0;
  append_log<traffic_writer> log_;
};

}  // namespace rankd
