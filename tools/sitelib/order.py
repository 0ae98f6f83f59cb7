# tools/sitelib/order.py: the sections of the guide, and the order of its pages. Those that no line names come in More.
from __future__ import annotations

import fnmatch

SECTIONS = (
    ("Start", ("README.md", "docs/tutorial*.md", "docs/cookbook*.md", "docs/using.md", "docs/packages.md",
               "docs/coming_from*.md")),
    ("Compute", ("docs/pools.md", "docs/futures.md", "docs/parallel.md", "docs/graphs.md", "docs/job_slab.md",
                 "docs/threads.md", "docs/plugins.md")),
    ("Wait and serve", ("docs/coroutines.md", "docs/timers.md", "docs/sockets.md", "docs/tls.md",
                        "docs/http.md", "docs/http2.md", "docs/redis.md", "docs/merged.md", "docs/execution.md",
                        "docs/beside_asio.md")),
    ("Errors, tests, traces", ("docs/errors.md", "docs/testing.md", "docs/simulation.md", "docs/tracing.md", "docs/dump.md", "docs/metrics.md",
                                "docs/stalls.md")),
    ("rankd", ("docs/tutorial_rankd.md", "docs/shop.md", "docs/train_deploy_compare.md", "docs/rankd.md", "docs/plans.md", "docs/registry.md",
               "docs/operators.md", "docs/vectors.md", "docs/remote_models.md", "docs/plan_tests.md",
               "docs/serving.md", "docs/grpc.md", "docs/replay.md", "docs/compare.md", "docs/experiments.md", "docs/page.md",
               "docs/scale_out.md", "docs/python.md")),
    ("Project", ("ARCHITECTURE.md", "docs/glossary.md", "docs/results.md", "CONTRIBUTING.md", "docs/maintaining.md",
                 "docs/gate.md", "docs/arm64.md", "docs/long_runs.md", "docs/site.md", "CHANGELOG.md")),
    ("More", ("docs/*.md",)),
    ("How it works", ("docs/design/*.md",)),
    ("Decisions", ("docs/decisions/*.md",)),
)
LINKED_ONLY = "Elsewhere"  # pages that are there because another one leads to them
FOLDED = {"How it works", "Decisions", LINKED_ONLY}  # many pages, which the navigation shows when asked
WITHOUT_LINKS = {"rankd"}  # `query` or `task` in these pages is no name of the library
FOLDERS = {"docs/design": "How it works", "docs/decisions": "Decisions"}  # which have a page that lists theirs
TOP = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")


def place_of(path: str) -> tuple[int, int, str] | None:
    """Section, place and name of a page, to sort by; None for what is no page of the guide."""
    if not (path in TOP or path.startswith("docs/") and path.endswith(".md")):
        return None
    fitting = [(path != pattern, section, at) for section, (_, patterns) in enumerate(SECTIONS)
               for at, pattern in enumerate(patterns)
               if fnmatch.fnmatchcase(path, pattern) and path.count("/") == pattern.count("/")]
    _, section, at = min(fitting, default=(True, len(SECTIONS), 0))  # its own name before a pattern
    return section, at, path


def section_of(path: str) -> str:
    place = place_of(path)
    return SECTIONS[place[0]][0] if place and place[0] < len(SECTIONS) else "More" if place else LINKED_ONLY


def pages_of(files: list[str]) -> list[str]:
    """The Markdown files of the guide, in order."""
    placed = [(place, path) for path in files if (place := place_of(path))]
    return [path for _, path in sorted(placed)]
