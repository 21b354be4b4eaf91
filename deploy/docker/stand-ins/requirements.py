"""Prints the pinned requirements of a Python package: those lines of .ci/requirements.txt that it needs.

python3 requirements.py PACKAGE <.ci/requirements.txt
"""

import re
import sys

pins = {pin.split("==")[0]: pin for pin in re.split(r"\n(?=\w)", sys.stdin.read())}
needed = {sys.argv[1]}
for _ in pins:
    needed |= {name for name, pin in pins.items() if needed & set(re.findall(r"#(?: via)? +([\w-]+)$", pin, re.M))}
print("\n".join(pins[name] for name in sorted(needed)))
