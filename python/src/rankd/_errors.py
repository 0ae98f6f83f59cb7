"""rankd/_errors.py: the one exception of the package."""
from __future__ import annotations


class RankdError(Exception):
    """What is wrong with a project, a plan, a request or its answer.

    ``code`` is stable and made for programs, ``message`` is a sentence for people. ``pointer`` is a JSON pointer
    (RFC 6901) into the request or the file that is wrong. ``diagnostics`` has everything that was found; the other
    attributes are those of the first of them. ``request_id`` is that of the request, or empty.
    """

    def __init__(self, diagnostics: list[dict[str, str]], request_id: str = "") -> None:
        self.diagnostics = diagnostics
        self.request_id = request_id
        first = diagnostics[0]
        self.code: str = first["code"]
        self.pointer: str = first.get("pointer", "")
        self.message: str = first["message"]
        self.hint: str = first.get("hint", "")
        self.node: str = first.get("node", "")
        self.source: str = first.get("source", "")
        super().__init__("\n".join(_line(each) for each in diagnostics))

    def __reduce__(self):
        return RankdError, (self.diagnostics, self.request_id)


def _line(diagnostic: dict[str, str]) -> str:
    source, pointer, node, hint = (diagnostic.get(name, "") for name in ("source", "pointer", "node", "hint"))
    place = source + ("#" + pointer if pointer else "")
    return (f"{place}: " if place else "") + (f"node `{node}`: " if node else "") + \
        f"{diagnostic['message']} [{diagnostic['code']}]" + (f"; {hint}" if hint else "")
