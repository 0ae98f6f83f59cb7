// rankd/cli/output/progress.cpp: draws a progress bar.
#include <rankd/cli/output/progress.hpp>

#include <rankd/cli/output/printable.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include <unistd.h>

namespace rankd {

auto bar_text(std::uint64_t done, std::uint64_t total) -> std::string {
  constexpr std::uint64_t width = 40;
  const double share = total == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
  const std::string percent = std::to_string(static_cast<int>(share * 100));
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "] " +
         std::string(3 - std::min<std::size_t>(percent.size(), 3), ' ') + percent + " %";
}

progress_bar::progress_bar(std::string label, output target)
    : label_(std::move(label)), visible_(target == output::forced || ::isatty(STDERR_FILENO) == 1) {}

progress_bar::~progress_bar() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void progress_bar::show(std::uint64_t done, std::uint64_t total) {
  if (!visible_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_ && done < total) return;
  next_ = now + std::chrono::milliseconds(100);
  drawn_ = true;
  std::fprintf(stderr, "\r%s %s", label_.c_str(), bar_text(done, total).c_str());
  std::fflush(stderr);
}

auto progress_bar::for_load() -> std::function<void(const load_progress&)> {
  return [this](const load_progress& progress) { show(progress.bytes_done, progress.bytes_total); };
}

auto progress_bar::for_demo() -> std::function<void(const demo_progress&)> {
  return [this](const demo_progress& progress) { show(progress.lines_done, progress.lines_total); };
}

auto load_bars() -> load_observer {
  return [](const std::filesystem::path& data) {
    auto bar = std::make_shared<progress_bar>("loading " + printable(data.filename().string()));
    return [bar = std::move(bar)](const load_progress& progress) { bar->for_load()(progress); };
  };
}

}  // namespace rankd
