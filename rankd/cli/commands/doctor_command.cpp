// rankd/cli/commands/doctor_command.cpp: rankd doctor: checks whether this project can be served on this machine.
#include <rankd/cli/checks/checkup.hpp>
#include <rankd/cli/commands/commands.hpp>
#include <rankd/cli/output/report.hpp>

namespace rankd {

auto doctor_command(const list_options& options) -> exit_status {
  checkup all;
  if (const auto in = check_project(options.project, all)) {
    check_plans(*in, all);
    check_stores(*in, all);
  }
  check_system("/", all);
  print(options.form == output_form::programs ? to_json(all) + "\n" : to_text(all));
  return all.count(health::fail) == 0 ? exit_status::fine : exit_status::failed;
}

}  // namespace rankd
