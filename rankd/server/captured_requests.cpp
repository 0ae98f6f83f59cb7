// rankd/server/captured_requests.cpp: which rows of a request go to the files of captures and exposures.
#include <rankd/server/detail/rank_parts.hpp>

#include <rankd/server/captured_lines.hpp>

namespace rankd::detail {

/// Of the plan, and of one that has stood in for it, or failed to.
void shard::keep_captures(const request_record& record, const bound_plan& plan, const ranking& result,
                          std::chrono::milliseconds time) {
  line_file* const into = all_->context.captures;
  if (into == nullptr) return;
  const auto add = [&](const bound_plan& of, const ranking& rows) {
    for (const captured_rows& each : rows.captured_by_plan)
      into->add(capture_line({record, time, of.name, of.digest, all_->context.redacted}, each));
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

void shard::write_lines(exposition& out) const {
  const std::pair<std::string_view, const line_file*> all[] = {{"captures", all_->context.captures},
                                                               {"exposures", all_->context.exposures}};
  using kind = exposition::kind;
  const auto sample = [&](auto count) {
    for (const auto& [name, file] : all)
      if (file != nullptr) out.sample({{"file", name}}, static_cast<double>(count(*file)));
  };
  if (all[0].second == nullptr && all[1].second == nullptr) return;
  out.family("rankd_data_lines_total", kind::counter, "Lines that files of captures and exposures hold.");
  sample([](const line_file& file) { return file.written(); });
  out.family("rankd_data_lines_lost_total", kind::counter,
             "Lines of captures and exposures that were lost: too many waited for the disk, or it took no more.");
  sample([](const line_file& file) { return file.lost(); });
}

}  // namespace rankd::detail
