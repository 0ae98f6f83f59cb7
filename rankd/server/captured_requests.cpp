// rankd/server/captured_requests.cpp: which rows of a request go to the files of captures and exposures.
#include <rankd/server/detail/rank_parts.hpp>

#include <rankd/server/arrow_file.hpp>
#include <rankd/server/captured_lines.hpp>

namespace rankd::detail {
namespace {

using kind = exposition::kind;

}  // namespace

/// Of the plan, and of one that has stood in for it, or failed to.
void shard::keep_captures(const request_record& record, const bound_plan& plan, const ranking& result,
                          std::chrono::milliseconds time) {
  line_file* const lines = all_->context.captures;
  arrow_file* const table = all_->context.arrow_captures;
  const auto add = [&](const bound_plan& of, const ranking& rows) {
    const line_origin from{record, time, of.name, of.digest, all_->context.redacted};
    for (const captured_rows& each : rows.captured_by_plan) {
      if (lines != nullptr) lines->add(capture_line(from, each));
      if (table != nullptr) table->add(copy_of(from, each));
    }
  };
  add(plan, result.failed_before == nullptr ? result : *result.failed_before);
  if (result.failed_before != nullptr) add(*plan.substitute, result);
  if (result.failed_after != nullptr) add(*plan.substitute, *result.failed_after);
}

void shard::keep_exposure(const request_record& record, const ranking& result, std::chrono::milliseconds time) {
  if (all_->context.exposures == nullptr || result.error) return;
  all_->context.exposures->add(
      exposure_line({record, time, record.plan, record.plan_digest, all_->context.redacted}, result));
}

void shard::write_reopenings(exposition& out) const {
  const serve_context& to = all_->context;
  const auto sample = [&](auto value) {
    const auto add = [&](std::string_view name, const auto* file) {
      if (file != nullptr) out.sample({{"file", name}}, static_cast<double>(value(file->reopened())));
    };
    add("log", to.log.file());
    add("audit", to.audit);
    add("captures", to.captures);
    add("captures", to.arrow_captures);
    add("exposures", to.exposures);
  };
  out.family("rankd_file_not_reopened", kind::gauge,
             "1 while a file could not be reopened, and lines still go into the one that was moved away.");
  sample([](const reopening& each) { return each.is_pending() ? 1 : 0; });
  out.family("rankd_file_reopen_failures_total", kind::counter, "Attempts to reopen a file that have failed.");
  sample([](const reopening& each) { return each.failures(); });
}

void shard::write_lines(exposition& out) const {
  const serve_context& to = all_->context;
  const bool has_captures = to.captures != nullptr || to.arrow_captures != nullptr;
  const auto sample = [&](auto count) {
    const auto of = [&](const auto* file) { return file == nullptr ? 0.0 : static_cast<double>(count(*file)); };
    if (has_captures) out.sample({{"file", "captures"}}, of(to.captures) + of(to.arrow_captures));
    if (to.exposures != nullptr) out.sample({{"file", "exposures"}}, of(to.exposures));
  };
  if (!has_captures && to.exposures == nullptr) return;
  out.family("rankd_data_lines_total", kind::counter,
             "Lines that files of captures and exposures hold; of Arrow's form, row sets.");
  sample([](const auto& file) { return file.written(); });
  out.family("rankd_data_lines_lost_total", kind::counter,
             "Lines of captures and exposures that were lost: too many waited for the disk, or it took no more.");
  sample([](const auto& file) { return file.lost(); });
}

}  // namespace rankd::detail
