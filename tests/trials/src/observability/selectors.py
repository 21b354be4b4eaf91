"""Lists what PromQL expressions select, for `trials dashboards`.

Reads a JSON array of expressions. Prints a JSON array with a list for each expression. Its entries are pairs: a name
for reports, and queries of which at least one must return series.

- Each selector must return series. A regular expression is split at `|`, and each alternative must return series.
- A value that a selector excludes (`!=`, `!~`) must exist too; otherwise the exclusion is a mistake.
- Each label of `by`, `on`, `group_left` and the like must exist in a series below that operator.
"""

import itertools
import json
import sys

from promql_parser import AggregateExpr, BinaryExpr, MatchOp, VectorSelector, parse, walk

SIGNS = [(MatchOp.Equal, "="), (MatchOp.NotEqual, "!="), (MatchOp.Re, "=~"), (MatchOp.NotRe, "!~")]


def selectors(expression):
    """Returns name and matchers of each selector below an expression. Offsets do not matter here."""
    found = []

    def visit(node):
        if isinstance(node, VectorSelector):
            matchers = [(m.name, sign, m.value) for m in node.matchers.matchers for op, sign in SIGNS if m.op == op]
            found.append((node.name or "", matchers))

    walk(expression, visit)
    return found


def query(name, matchers):
    texts = [f"{label}{sign}{json.dumps(value)}" for label, sign, value in matchers]
    return f"{name}{{{','.join(texts)}}}" if texts else name


def alternatives(matcher):
    label, sign, value = matcher
    return [(label, sign, part) for part in value.split("|")] if sign == "=~" else [matcher]


def exclusions(matchers):
    """Returns a positive matcher for each excluded value."""
    for label, sign, value in matchers:
        if sign == "!~":
            yield from ((label, "=~", part) for part in value.split("|"))
        elif sign == "!=" and value:
            yield (label, "=", value)


def labels(expression):
    """Returns each label that an operator names, with the selectors below that operator."""
    found = []

    def visit(node):
        if isinstance(node, AggregateExpr) and node.modifier:
            found.extend((label, selectors(node.expr)) for label in node.modifier.labels)
        if isinstance(node, BinaryExpr) and node.modifier:
            matching = node.modifier.matching.labels if node.modifier.matching else []
            below = selectors(node.lhs) + selectors(node.rhs)
            found.extend((label, below) for label in matching + (node.modifier.group_labels or []))

    walk(expression, visit)
    return found


def requirements(expression):
    try:
        expression = parse(expression)
    except ValueError as error:
        sys.exit(f"{expression}: {error}")
    for name, matchers in selectors(expression):
        for choice in itertools.product(*map(alternatives, matchers)):
            yield query(name, choice), [query(name, choice)]
        for matcher in exclusions(matchers):
            yield query(name, [matcher]), [query(name, [matcher])]
    for label, below in labels(expression):
        present = (label, "!=", "")
        yield f"label {label}", [query(name, [*matchers, present]) for name, matchers in below]


json.dump([list(requirements(expression)) for expression in json.load(sys.stdin)], sys.stdout)
