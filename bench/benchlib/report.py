"""bench/benchlib/report.py: REPORT.md and its plots, from the samples and from what the run says of itself."""
import json

from benchlib import plots, results, stats, suite

SURE = 0.05


def table(heads, lines):
    """A table of Markdown; the first columns are words, `heads` that begin with > are numbers."""
    rule = ["---:" if head.startswith(">") else "---" for head in heads]
    rows = [[head.lstrip(">") for head in heads], rule, *lines]
    return ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]


def ratio(value):
    return "∞" if value == float("inf") else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def head_of(run):
    machine = run["machine"]
    lines = ["# What was measured", ""]
    if run["is_quick"]:
        lines += ["**A quick run:** small sizes and few rounds. It shows that everything works and about where we stand; "
                  "metrics to quote come from a whole run.", ""]
    if run["others_share"] > 0.02:
        lines += [f"**Not alone:** other processes took {run['others_share']:.0%} of the processors while this was measured, "
                  f"the host {run['host_share']:.0%}. Medians suffer from that; look at minima, and at ratios of the same row.",
                  ""]
    else:
        lines += [f"Other processes took {run['others_share']:.1%} of the processors meanwhile, the host "
                  f"{run['host_share']:.1%}.", ""]
    lines += table(["", ""], [
        ["when", f"{machine['date']}, {run['minutes']:.0f} minutes"], ["commit", machine["commit"]],
        ["machine", f"{machine['processors']} × {machine['processor']}{', virtual' if machine['virtual'] else ''}; "
                    f"{machine['memory_mib']} MiB; {machine['system']}"],
        ["rounds", f"{run['rounds']} of {run['rounds_wanted']}, contenders alternating within each"],
        ["subjects", ", ".join(run["subjects"])]])
    return lines + [""]


def versions_of(samples):
    found = {}
    for sample in samples:
        found.setdefault(sample["contender"], (sample["version"], sample["compiler"]))
    lines = [[name, version or "–", compiler] for name, (version, compiler) in sorted(found.items())]
    return ["<details><summary>Contenders, their versions and compilers</summary>", "",
            *table(["contender", "version", "compiler"], lines), "", "</details>", ""]


def absent(run):
    lines = [f"- {language}: {why}" for language, why in run["left_out"].items()]
    lines += [f"- **failed** {each['row']}, {each['contender']}: {each['why']}" for each in run["failures"]]
    return ["## Left out and failed", "", *(lines or ["Nothing."]), ""]


def certainty(loss):
    ours, rival = (len(loss.row.columns[name].values) for name in (loss.ours, loss.rival))
    if stats.min_p(ours, rival) >= SURE:
        return "too few rounds"
    return "yes" if loss.p < SURE else "within noise"


def losses(rows):
    found = results.losses_of(rows)
    lines = [[f"`{loss.row.id}`", loss.ours, plots.amount(loss.row.columns[loss.ours].median), loss.rival,
              plots.amount(loss.row.columns[loss.rival].median), loss.row.metric.unit, ratio(loss.ratio),
              certainty(loss)] for loss in found]
    compared = sum(1 for row in rows if row.best(results.OURS) and row.best(results.RIVAL))
    return ["## What we lose", "", f"{len(found)} of {compared} rows in which both we and a rival stand. The best of ours "
            f"against the best rival, by medians; sure where the rank test says so (p < {SURE}). In what rivals "
            "differ where they cannot do quite the same stands in bench/README.md.", "",
            *(table(["row", "ours", ">median", "best rival", ">median", "unit", ">ratio", "sure"], lines) if found else ["Nothing."]),
            ""]


def targets(rows):
    found = [verdict for row in rows for verdict in results.verdicts_of(row)]
    found.sort(key=lambda verdict: verdict.is_met)
    lines = [["met" if verdict.is_met else "**missed**", f"`{verdict.row.id}`", verdict.contender, plots.amount(verdict.value),
              verdict.text, verdict.row.metric.unit] for verdict in found]
    met = sum(verdict.is_met for verdict in found)
    return ["## Targets", "", f"{met} of {len(found)} are met, by medians.", "",
            *(table(["", "row", "contender", ">median", "target", "unit"], lines) if found else []), ""]


def limits(rows):
    lines = [[f"`{row.id}`", row.point.case.what + (f": {row.metric.name.replace('_', ' ')}" if row.metric.name else ""),
              plots.amount(column.median), plots.amount(min(column.values)), f"{stats.spread(column.values):.0%}", row.metric.unit]
             for row in rows if row.point.case.subject == "limits" for column in row.columns.values()]
    if not lines:
        return []
    return ["## Physical limits", "", "What the machine itself took, in the same run.", "",
            *table(["row", "what", ">median", ">minimum", ">spread", "unit"], lines), ""]


def row_lines(row):
    """A line for each contender, the best first."""
    best = row.best(results.OURS, results.RIVAL)
    reference = row.columns[best].median if best else None
    for name, column in sorted(row.columns.items(), key=lambda item: item[1].median):
        bold = "**" if column.kind == results.OURS else ""
        beside = ratio(column.median / reference) if reference else "–"
        yield [f"`{row.id}`", f"{bold}{name}{bold}" + (" (reference)" if column.kind == results.REFERENCE else ""),
               plots.amount(column.median), plots.amount(min(column.values)), f"{stats.spread(column.values):.0%}",
               beside, f"{stats.median(column.cpu):.2f}", plots.amount(column.peak_kib / 1024)]


def known(case):
    if not case.known:
        return []
    lines = [[each.system, each.workers, plots.amount(each.value), ratio(each.value / case.serial) if case.serial else "–"]
             for each in case.known]
    serial = f", the serial reference {plots.amount(case.serial)}" if case.serial else ""
    return ["", f"Systems that no registry carries, measured earlier on a machine of this kind ({case.metrics[0].unit}{serial}):",
            "", *table(["system", ">workers", ">value", ">to serial"], lines)]


def one_case(case, rows, plot):
    lines = [f"### {case.subject}/{case.name}", "", f"{case.what[0].upper()}{case.what[1:]}.", "", f"![{case.name}]({plot})", ""]
    for unit in dict.fromkeys(row.metric.unit for row in rows):
        cells = [line for row in rows if row.metric.unit == unit for line in row_lines(row)]
        lines += [f"<details><summary>{len(cells)} lines, in {unit}</summary>", "",
                  *table(["row", "contender", f">median, {unit}", ">minimum", ">spread", ">ratio to best", ">cores busy",
                          ">peak MiB"], cells), "", "</details>", ""]
    return lines + known(case) + [""]


def growing(rows):
    """Returns the parameter that a case of the subject growth varies: the one with the most values, if it has at least
    three. If several have as many, returns the one that subject.toml names first, so that a chart has the same axis in
    each run."""
    names = dict.fromkeys(name for row in rows for name in row.point.params)
    counts = {name: len({row.point.params.get(name) for row in rows}) for name in names
              if all(isinstance(row.point.params.get(name), (int, float)) for row in rows)}
    return max(counts, key=counts.get) if counts and max(counts.values()) >= 3 else None


def plot_of(case, rows):
    title = f"{case.subject}/{case.name}"
    across = growing(rows) if case.subject == "growth" else None
    if across:
        series = {}
        for row in rows:
            for name, column in row.columns.items():
                series.setdefault(name, []).append((row.point.params[across], column.median))
        return plots.lines(title, case.metrics[0].unit, across, list(series.items()))
    groups = []
    for row in rows:
        heading = ", ".join([*([row.metric.name] if row.metric.name else []),
                             *(f"{name} {value}" for name, value in row.point.params.items())])
        members = sorted(row.columns.items(), key=lambda item: item[1].median)
        groups.append((heading, [(name, column.kind, column.median, min(column.values), max(column.values))
                                 for name, column in members]))
    return plots.bars(title, ", ".join(dict.fromkeys(metric.unit for metric in case.metrics)), groups)


def write(folder, run, samples, cases):
    """REPORT.md, the plots, and what was measured, as data."""
    rows = results.rows_of(samples, cases)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.svg"):
        old.unlink()
    lines = [*head_of(run), *losses(rows), *targets(rows), *limits(rows), "## All rows", "",
             "The id of a row and a contender name a metric. The ratio is to the best of ours and our rivals; references, such "
             "as the loop without any tasks, show what bounds all. Cores busy is CPU time by wall time.", ""]
    for case in cases:
        mine = [row for row in rows if row.point.case is case]
        if mine and case.subject != "limits":
            plot = f"{case.subject}-{case.name}.svg"
            (folder / plot).write_text(plot_of(case, mine), encoding="utf-8")
            lines += one_case(case, mine, plot)
    lines += [*absent(run), *versions_of(samples)]
    (folder / "REPORT.md").write_text("\n".join(lines), encoding="utf-8")
    (folder / "run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    results.write_samples(folder / "samples.jsonl", samples)


def subjects_of(cases):
    return list(dict.fromkeys(case.subject for case in cases))
