"""Where the output of a notebook's cell comes from: the records, or something that was computed on the spot.

The code is read, not run. Each name carries its sources, and what is worked out from it inherits them: "records"
for what was read from the runs on record, "live" for what was trained, drawn or timed in this notebook, which may
differ on another machine. Anything else (printed numbers, settings, arithmetic) is the same everywhere.
"""

import ast
from collections.abc import Iterable

RECORDS, LIVE = "records", "live"
SOURCES = {"Records": RECORDS}
LIVE_MODULES = {"time"}
# What trains, loads, draws, times or runs a network, by the name under which it is imported.
LIVE_NAMES = {
    "build",
    "build_network",
    "extrapolate",
    "extrapolate_all",
    "fixed_loss",
    "load_weights",
    "perf_counter",
    "reader_network",
    "train",
    "trained",
}
COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
SHOWN = {"print", "show", "display", "slider"}
MUTATORS = {"add", "append", "extend", "insert", "setdefault", "update"}

Sources = frozenset[str]
NONE: Sources = frozenset()


class Notebook:
    """Follows the names of one notebook through its cells, in order."""

    def __init__(self) -> None:
        self.names: dict[str, Sources] = {}

    def output_of(self, code: str) -> Sources | None:
        """Sources of what a cell shows, None where it shows nothing; later cells see what it assigned."""
        lines = [line if not line.lstrip().startswith(("%", "!")) else "" for line in code.splitlines()]
        self.shown: list[Sources] = []
        body = ast.parse("\n".join(lines)).body
        self.run(body, NONE)
        if body and isinstance(body[-1], ast.Expr) and not code.rstrip().endswith(";"):
            if not self.shows(body[-1].value):
                self.shown.append(self.sources(body[-1].value))
        return frozenset().union(*self.shown) if self.shown else None

    def run(self, body: Iterable[ast.stmt], around: Sources) -> None:
        """Follow statements that run only as `around` decides: the conditions and loops about them."""
        for statement in body:
            self.follow(statement, around)

    def follow(self, statement: ast.stmt, around: Sources) -> None:
        """Follow one statement: what it assigns, changes or shows."""
        match statement:
            case ast.Import() | ast.ImportFrom():
                self.imported(statement)
            case ast.FunctionDef() | ast.ClassDef():
                self.names[statement.name] = self.sources(statement) | around
            case ast.For() | ast.While() | ast.If() | ast.With():
                for _ in range(2):  # what a loop's end assigns, its start sees
                    self.compound(statement, around)
            case ast.Try():
                parts = [statement.body, *(each.body for each in statement.handlers), statement.orelse]
                tried = frozenset().union(*(self.sources(each) for each in statement.body))
                for part in [*parts, statement.finalbody]:
                    self.run(part, around | tried)
            case ast.Expr(value=ast.Call() as call):
                self.called(call, around)
            case _:
                self.assign(statement, self.sources(statement) | around)

    def compound(self, statement: ast.For | ast.While | ast.If | ast.With, around: Sources) -> None:
        """Follow a statement with a head and a body."""
        heads = [item for item in ast.iter_child_nodes(statement) if not isinstance(item, ast.stmt)]
        head = around.union(*(self.sources(each) for each in heads))
        for each in heads:
            self.assign(each, head)
        self.run(statement.body, head)
        self.run(getattr(statement, "orelse", []), head)

    def imported(self, statement: ast.Import | ast.ImportFrom) -> None:
        """Note where an imported name comes from."""
        module = getattr(statement, "module", None)
        for each in statement.names:
            name = each.asname or each.name.split(".")[0]
            live = each.name in LIVE_NAMES or (module or each.name) in LIVE_MODULES
            self.names[name] = (
                frozenset({SOURCES[each.name]}) if each.name in SOURCES else frozenset({LIVE} if live else ())
            )

    def called(self, call: ast.Call, around: Sources) -> None:
        """Follow a call that stands alone: it shows something, or changes what it is a method of."""
        for inner in ast.walk(call):
            if isinstance(inner, ast.Call) and self.shows(inner):
                parts = inner.args if name_of(inner) != "show" else inner.args[1:]  # a figure is not compared
                used = [self.sources(part) for part in (*parts, *inner.keywords)]
                self.shown.append(around.union(*used))
        base = call.func
        if isinstance(base, ast.Attribute) and base.attr in MUTATORS:
            self.assign_to(base.value, self.sources(call) | around, more=True)

    def shows(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and name_of(value) in SHOWN

    def assign(self, node: ast.AST, sources: Sources) -> None:
        if isinstance(node, COMPREHENSIONS):
            return  # what it assigns is its own
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            self.assign_to(node, sources, more=not isinstance(node, ast.Name))
        for each in ast.iter_child_nodes(node):
            self.assign(each, sources)

    def assign_to(self, target: ast.expr, sources: Sources, *, more: bool) -> None:
        while isinstance(target, ast.Attribute | ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name):
            self.names[target.id] = sources | (self.names.get(target.id, NONE) if more else NONE)

    def sources(self, node: ast.AST, own: frozenset[str] = frozenset()) -> Sources:
        """All sources that are named at a node or below; `own` are names that mean something else there."""
        if isinstance(node, ast.Name):
            known = isinstance(node.ctx, ast.Load) and node.id not in own
            return self.names.get(node.id, NONE) if known else NONE
        if isinstance(node, COMPREHENSIONS):
            own |= {
                each.id
                for part in node.generators
                for each in ast.walk(part.target)
                if isinstance(each, ast.Name)
            }
        elif isinstance(node, ast.Lambda | ast.FunctionDef):
            own |= {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
            stored = (each for each in ast.walk(node) if isinstance(each, ast.Name))
            own |= {each.id for each in stored if isinstance(each.ctx, ast.Store)}
        called = frozenset({LIVE} if isinstance(node, ast.Attribute) and node.attr in LIVE_NAMES else ())
        return called.union(*(self.sources(each, own) for each in ast.iter_child_nodes(node)))


def name_of(call: ast.Call) -> str:
    """The last part of a called name: "show" of `plotting.show(...)`."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))
