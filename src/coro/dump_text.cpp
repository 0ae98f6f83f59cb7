// src/coro/dump_text.cpp: formats a task dump as text for people.
#include <braid/coro/dump.hpp>

#include "shown_name.hpp"

#include <braid/coro/detail/awaiter_base.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace braid {
namespace {

auto span_text(duration span) -> std::string {
  std::array<char, 48> text{};
  const double seconds = std::chrono::duration<double>(span).count();
  if (seconds < 1 && seconds > -1)
    std::snprintf(text.data(), text.size(), "%.1f ms", 1e3 * seconds);
  else
    std::snprintf(text.data(), text.size(), "%.1f s", seconds);
  return text.data();
}

void add_head(std::string& text, const task_dump::entry& task) {
  text += "task";
  if (task.id.number != 0) text += " " + std::to_string(task.id.number);
  if (!task.name.empty()) text += " \"" + detail::shown_name(task.name) + "\"";
  if (task.stopped_for) text += ", stopped: " + make_error_code(*task.stopped_for).message();
  if (task.time_left) {
    const bool is_over = *task.time_left < duration::zero();
    text +=
        is_over ? ", deadline " + span_text(-*task.time_left) + " ago" : ", deadline in " + span_text(*task.time_left);
  }
  text += "\n";
}

void add_task(std::string& text, const task_dump::entry& task) {
  const std::string margin(2 * (task.depth + 1), ' ');
  text += margin;
  if (task.others != 0) {
    text += std::to_string(task.others) + (task.others == 1 ? " task is" : " tasks are");
    text += " ready, or running on another executor\n";
    return;
  }
  add_head(text, task);
  for (std::size_t i = 0; i < task.functions.size(); ++i) {
    text += margin + "  " + task.functions[i];
    if (!task.places[i].empty()) text += " at " + task.places[i];
    text += "\n";
  }
  text += margin + "  ";
  text += task.functions.empty() ? "is ready, runs on another executor, or waits for its own tasks"
                                 : "waits for " + task.waits_for;
  text += "\n";
}

void add_home(std::string& text, const task_dump::home& home) {
  text += home.is_loop ? "loop" : "serial executor";
  if (!home.thread.empty()) text += " on thread " + detail::shown_name(home.thread);
  switch (home.how) {
    case task_dump::home::answer::whole: break;
    case task_dump::home::answer::part: text += ", incomplete, because memory is scarce"; break;
    case task_dump::home::answer::late: text += ": no answer, because its thread is busy or blocked"; break;
    case task_dump::home::answer::not_running: text += ": does not run"; break;
  }
  text += "\n";
  for (const task_dump::entry& each : home.tasks) add_task(text, each);
}

}  // namespace

void detail::describe_time_left(std::string& text, time_point time, time_point now) {
  if (time == time_point::max())
    text += "for ever";
  else
    text += time <= now ? "due" : span_text(time - now) + " left";
}

void detail::describe_task(std::string& text, const char* prefix, std::uint64_t number) {
  if (number != 0) text.append(prefix).append(" task ").append(std::to_string(number));
}

auto task_dump::to_text() const -> std::string {
  std::string text;
  for (const std::string& each : deadlocks) text += "deadlock: " + each + "\n";
  for (const task_dump::home& each : homes) add_home(text, each);
  return text;
}

}  // namespace braid
