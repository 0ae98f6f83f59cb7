// rankd/server/traffic/traffic_writer.cpp: queues frames of recorded traffic, and writes them to a file.
#include <rankd/server/traffic/traffic_writer.hpp>

#include <rankd/engine/engine.hpp>
#include <rankd/registry/diagnostic.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <new>
#include <numeric>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace {

constexpr int for_its_owner = 0600;
constexpr std::size_t bytes_at_once = std::size_t{256} << 10U;  // fewer bytes wait for the next frames
constexpr std::chrono::milliseconds max_rest{50};
constexpr std::size_t max_kept_memory = std::size_t{1} << 20U;
constexpr std::chrono::minutes retry_of_plans{1};

}  // namespace

auto traffic_counts::all_lost() const noexcept -> std::uint64_t {
  return std::accumulate(lost.begin(), lost.end(), std::uint64_t{0});
}

auto traffic_writer::open(const std::filesystem::path& file, const recorded_project& project, traffic_options options)
    -> braid::checked<std::unique_ptr<traffic_writer>> {
  braid::descriptor made(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, for_its_owner));
  if (!made && errno == EEXIST)
    return refused("file_exists", "already exists, but traffic can be recorded only to a new file",
                   "name another file, or move this file", file);
  if (!made)
    return refused("unwritable_file", "cannot be written: " + std::generic_category().message(errno), {}, file);
  auto writer = on(std::move(made), project, std::move(options));
  if (!writer) ::unlink(file.c_str());
  return writer;
}

auto traffic_writer::on(braid::descriptor file, const recorded_project& project, traffic_options options)
    -> braid::checked<std::unique_ptr<traffic_writer>> {
  std::unique_ptr<traffic_writer> made(new traffic_writer(std::move(file), std::move(options)));
  if (auto started = made->start(project); !started) return std::unexpected(std::move(started.error()));
  return made;
}

traffic_writer::traffic_writer(braid::descriptor file, traffic_options options)
    : options_(std::move(options)),
      file_(std::move(file)),
      log_(*this, {.thread = "traffic", .batch_bytes = bytes_at_once, .max_delay = max_rest}) {}

auto traffic_writer::start(const recorded_project& project) -> braid::checked<void> {
  std::string first = encode_frame(project);
  seal_frame(first);
  first.insert(0, traffic_head);
  size_ = write_bytes(first);
  if (size_ != first.size())
    return refused("unwritable_file", "cannot be written: " + std::generic_category().message(errno));
  log_.locked([&](batch&, traffic_counts& counts) { counts.bytes = size_; });
  if (const auto started = log_.start(); !started) return std::unexpected(no_runtime(started.error()));
  return {};
}

traffic_writer::~traffic_writer() = default;

/// Returns whether the next request is recorded. If the share is 1/n, records every n-th request instead of random
/// ones, so that the cost is spread evenly.
auto traffic_writer::wants_next() noexcept -> bool {
  if (is_full_.load(braid::relaxed)) return false;
  if (options_.share >= 1) return true;
  const auto before = static_cast<double>(seen_.fetch_add(1, braid::relaxed));
  return std::floor((before + 1) * options_.share) > std::floor(before * options_.share);
}

/// Returns the number of a plan. If a plan was destroyed and a new plan has the same address, the new plan gets a new
/// number. Requires that the caller holds the mutex.
auto traffic_writer::number_of(const plan_handle& plan) -> std::uint32_t {
  known_plan_number& known = numbers_[plan.get()];
  if (known.number != 0 && !known.plan.expired()) return known.number;
  known = {.plan = plan, .number = ++last_plan_};
  const std::uint32_t number = known.number;
  std::erase_if(numbers_, [](const auto& each) { return each.second.plan.expired(); });
  return number;
}

void traffic_writer::add(const plan_handle& plan, std::string_view frame) noexcept {
  log_.locked([&](batch& waiting, traffic_counts& counts) {
    const std::uint64_t number = next_request_++;
    const bool is_large = frame.size() > max_frame;
    const std::size_t before = waiting.bytes.size();
    if (is_large || before + frame.size() > options_.max_waiting) {
      ++counts.lost[static_cast<std::size_t>(is_large ? traffic_loss::write : traffic_loss::queue)];
      return;
    }
    try {
      const std::uint32_t of_plan = number_of(plan);
      waiting.bytes += frame;
      number_request(std::span(waiting.bytes).subspan(before), number, of_plan);
      waiting.items.push_back({plan, of_plan, frame.size()});
    } catch (const std::bad_alloc&) {
      waiting.bytes.resize(before);
      ++counts.lost[static_cast<std::size_t>(traffic_loss::queue)];
    }
  });
}

void traffic_writer::lose(traffic_loss loss) noexcept {
  log_.locked([&](batch&, traffic_counts& counts) {
    ++next_request_;
    ++counts.lost[static_cast<std::size_t>(loss)];
  });
}

void traffic_writer::batch::clear() {
  items.clear();
  bytes.clear();
  if (bytes.capacity() > max_kept_memory) bytes = std::string();
}

/// Writes frames. Consecutive frames whose plans are already in the file are written by one system call.
void traffic_writer::write(batch& taken, append_then /*then*/) {
  std::size_t begin = 0;  // of the frames that are ready
  std::size_t end = 0;
  std::vector<std::size_t> sizes;
  sizes.reserve(taken.items.size());  // what follows does not throw
  const auto flush = [&] {
    const std::size_t written = write_bytes(std::string_view(taken.bytes).substr(begin, end - begin));
    std::size_t whole = 0;
    std::uint64_t done = 0;
    for (; done < sizes.size() && whole + sizes[done] <= written; ++done) whole += sizes[done];
    size_ += whole;
    if (whole != written) is_broken_ = ::ftruncate(file_.number(), static_cast<::off_t>(size_)) != 0;
    count(done, sizes.size() - done, traffic_loss::write);
    sizes.clear();
    begin = end;
  };
  for (const item& each : taken.items) {
    std::optional<traffic_loss> lost;
    if (const auto known = images_.find(each.number); known == images_.end() || !known->second.is_written) {
      flush();
      lost = plan_loss(each.plan, each.number);
    }
    if (!lost && size_ + (end - begin) + each.size > options_.max_bytes) lost = traffic_loss::limit;
    if (lost) {
      flush();
      if (lost == traffic_loss::limit) is_full_.store(true, braid::relaxed);
      begin = end = end + each.size;
      count(0, 1, *lost);
      continue;
    }
    seal_frame(std::span(taken.bytes).subspan(end, each.size));
    end += each.size;
    sizes.push_back(each.size);
  }
  flush();
}

/// Counts all frames of a batch as lost. None of them was written, because `write` throws only if an allocation fails
/// before the first frame is written.
void traffic_writer::lose(const batch& taken) noexcept { count(0, taken.items.size(), traffic_loss::write); }

/// Calls `has_plan`, and returns `traffic_loss::plan` if an allocation fails.
auto traffic_writer::plan_loss(const plan_handle& plan, std::uint32_t number) noexcept -> std::optional<traffic_loss> {
  try {
    return has_plan(plan, number);
  } catch (...) {
    return traffic_loss::plan;
  }
}

/// Writes a plan unless the file already contains it. If the plan cannot be written now or could not be written a short
/// time ago, returns the reason.
auto traffic_writer::has_plan(const plan_handle& plan, std::uint32_t number) -> std::optional<traffic_loss> {
  const auto [at, is_new] = images_.try_emplace(number);
  image& state = at->second;
  if (state.is_written) return std::nullopt;
  const braid::time_point now = options_.clock->now();
  if (!is_new && now < state.again) return state.why;
  const auto why = write_plan(plan, number, state);
  state.is_written = !why;
  state.why = why.value_or(traffic_loss{});
  state.again = now + retry_of_plans;
  return why;
}

/// Writes the fallback plan of a plan, and then the plan itself.
auto traffic_writer::write_plan(const plan_handle& plan, std::uint32_t number, image& state)
    -> std::optional<traffic_loss> {
  const auto report = [&](const braid::diagnostics& problems) {
    if (!std::exchange(state.is_reported, true) && options_.on_no_image) options_.on_no_image(*plan, problems);
  };
  std::optional<std::uint32_t> substitute;
  if (plan->substitute != nullptr) {
    log_.locked([&](batch&, traffic_counts&) { substitute = number_of(plan->substitute); });
    if (const auto why = has_plan(plan->substitute, *substitute)) return why;
  }
  auto made = options_.make_image(*plan);
  if (!made) {
    report(made.error());
    return traffic_loss::plan;
  }
  made->number = number;
  made->substitute = substitute;
  std::string frame = encode_frame(*made);
  if (frame.size() > max_frame) {
    report(make_diagnostic("plan_too_large", "the plan with its models has " + std::to_string(frame.size()) +
                                                 " bytes, but a recording can store " + std::to_string(max_frame) +
                                                 " of a plan"));
    return traffic_loss::write;
  }
  if (size_ + frame.size() > options_.max_bytes) return traffic_loss::limit;
  seal_frame(frame);
  const std::size_t written = write_bytes(frame);
  if (written != frame.size()) {
    if (written != 0) is_broken_ = ::ftruncate(file_.number(), static_cast<::off_t>(size_)) != 0;
    return traffic_loss::write;
  }
  size_ += written;
  return std::nullopt;
}

/// Writes bytes after the last whole frame, and returns how many bytes the system has written.
auto traffic_writer::write_bytes(std::string_view bytes) -> std::size_t {
  std::size_t done = 0;
  while (done < bytes.size() && !is_broken_) {
    const ::ssize_t got =
        ::pwrite(file_.number(), bytes.data() + done, bytes.size() - done, static_cast<::off_t>(size_ + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void traffic_writer::count(std::uint64_t recorded, std::uint64_t lost, traffic_loss loss) {
  log_.locked([&](batch&, traffic_counts& counts) {
    counts.recorded += recorded;
    counts.lost[static_cast<std::size_t>(loss)] += lost;
    counts.bytes = size_;
  });
}

}  // namespace rankd
