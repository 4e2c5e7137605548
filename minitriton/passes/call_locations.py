"""Locations of ops while calls are inlined: a location in the callee becomes `callsite(<that location> at <the call's location>)`.

    level0 inlined into level1, that into level2:     callsite(<in level0> at callsite(<in level1> at <in level2>))

All locations inside one call share the call's own (MLIR's `stackLocations`). What that is inside of turns out later, when the function around
the call is inlined in turn. So until the end an op stands at a location inside a `Site`, and the site is given what it came to be inside of: one
step for all that a function has taken in, not one for each op at each level.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, CallSiteLoc, FusedLoc, LocationAttr
from xdsl.ir import Attribute, Operation, Region

from minitriton.dialects import locations as unchecked
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.rewriting.rewriter import fused
from minitriton.rewriting.settled import Settled


class Site(Attribute):
    """A call that was inlined: its location in its function, and the site that this function's body came to be inside of, if any. It
    equals itself alone, and is the caller of the locations inside it: these are call sites to all who meet them meanwhile."""

    name = "minitriton.site"

    at: Attribute
    around: Site | None

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


def _site(at: Attribute, around: Site | None) -> Site:
    found = object.__new__(Site)
    vars(found).update(at=at, around=around)
    return found


def _site_of(location: Attribute) -> Site | None:
    """What `location` is inside of, as long as that is not written."""
    return location.caller if isinstance(location, CallSiteLoc) and isinstance(location.caller, Site) else None


class _Written:
    """Locations as sites are now."""

    def __init__(self) -> None:
        self._calls: dict[Site, Attribute] = {}
        self._known: dict[int, tuple[Attribute, LocationAttr]] = {}
        """By identity: hashing a location takes longer than making one."""

    def call(self, site: Site) -> Attribute:
        """The location of the call at `site`, with all that it is inside of."""
        inner: list[Site] = []
        around: Site | None = site
        while around is not None and around not in self._calls:
            inner.append(around)
            around = around.around
        at = None if around is None else self._calls[around]
        while inner:
            each = inner.pop()
            at = self._calls[each] = each.at if at is None else _stacked(each.at, at)
        assert at is not None
        return at

    def of(self, location: LocationAttr) -> LocationAttr:
        """`location` without sites."""
        found = self._known.get(id(location))
        if found is None:
            found = self._known[id(location)] = location, self._of(location)
        return found[1]

    def _of(self, location: LocationAttr) -> LocationAttr:
        site = _site_of(location)
        if site is not None:
            return _stacked(cast(CallSiteLoc, location).callee, self.call(site))
        if isinstance(location, FusedLoc) and instance_of(location.locations, ArrayAttr):
            parts = cast(tuple[LocationAttr, ...], location.locations.data)
            if any(_site_of(part) is not None for part in parts):
                return fused(*map(self.of, parts))
        return location


def _stacked(at: Attribute, caller: Attribute) -> CallSiteLoc:
    """`at` in a function called at `caller`: what is inside a call already keeps its callee, and its caller moves."""
    if isinstance(at, CallSiteLoc):
        return unchecked.at_call(at.callee, _stacked(at.caller, caller))
    return unchecked.at_call(at, caller)


class CallLocations:
    """The locations of all ops of a module whose calls are being inlined."""

    def __init__(self, settled: Settled) -> None:
        """What is `settled` and has its locations is not gone through again."""
        self._settled = settled
        self._inside: set[int] = set()
        """By identity: ops with regions in which all ops are inside sites."""
        self._outermost: dict[Operation, list[Site]] = {}
        """The sites in a function that are inside no other."""
        self.is_used = False
        """Whether any op is inside a site."""

    def forget(self, op: Operation) -> None:
        """Says that there may be new ops in `op`."""
        self._inside.discard(id(op))

    def put_inside(
        self, region: Region, location: LocationAttr, callee: Operation, func: Operation, is_copy: bool
    ) -> None:
        """What is in `region`, the body of `callee` or a copy of it, now stands at a call in `func`, at `location`."""
        self.is_used = True
        outermost = self._outermost.setdefault(func, [])
        site, around = None, _site_of(location)
        if around is not None:
            site = _site(cast(CallSiteLoc, location).callee, around)
        elif location != UNKNOWN_LOC:
            site = _site(_Written().of(location), None)
            outermost.append(site)
        move = _Copy(site, outermost) if is_copy else _Move(site)
        if is_copy or site is not None:
            self._go_through(region, move, skip=not is_copy)
        if not is_copy:
            within = self._outermost.pop(callee, [])
            for each in within:
                vars(each)["around"] = site
            if site is None:
                outermost += within

    def _go_through(self, region: Region, move: _Move, skip: bool) -> None:
        for block in region.blocks:
            for argument in block.args:
                argument.location = move.moved(argument.location)
        for op in (op for block in region.blocks for op in block.ops):
            op.location = move.moved(op.location)
            if op.regions and not (skip and id(op) in self._inside and op in self._settled):
                for inner in op.regions:
                    self._go_through(inner, move, skip)
                if move.site is not None:
                    self._inside.add(id(op))

    def write(self, module: Operation) -> None:
        """Gives all ops of `module` the locations that they have come to."""
        written = _Written()
        for op in ops_in(module):
            op.location = written.of(op.location)
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        argument.location = written.of(argument.location)


class _Move:
    """Locations in a function that is inlined at `site`."""

    def __init__(self, site: Site | None) -> None:
        self.site = site
        self._written = _Written()
        self._known: dict[int, tuple[LocationAttr, LocationAttr]] = {}

    def moved(self, location: LocationAttr) -> LocationAttr:
        """What `location` becomes."""
        found = self._known.get(id(location))
        if found is None:
            found = self._known[id(location)] = location, self._moved(location)
        return found[1]

    def _moved(self, location: LocationAttr) -> LocationAttr:
        around = _site_of(location)
        if around is not None:
            return self._inside_site(cast(CallSiteLoc, location).callee, around) or location
        at = self._written.of(location)
        return at if self.site is None else unchecked.at_call(at, self.site)

    def _inside_site(self, at: Attribute, site: Site) -> LocationAttr | None:
        """What `at` inside `site` becomes; None: it stays."""
        return None


class _Copy(_Move):
    """Locations in a copy, for which the sites of the original are copied."""

    def __init__(self, site: Site | None, outermost: list[Site]) -> None:
        super().__init__(site)
        self._outermost = outermost
        self._copies: dict[Site, Site] = {}

    def _inside_site(self, at: Attribute, site: Site) -> LocationAttr | None:
        return unchecked.at_call(at, self._copy(site))

    def _copy(self, site: Site) -> Site:
        inner: list[Site] = []
        around: Site | None = site
        while around is not None and around not in self._copies:
            inner.append(around)
            around = around.around
        copy = self.site if around is None else self._copies[around]
        while inner:
            each = inner.pop()
            outer = copy
            copy = self._copies[each] = _site(each.at, outer)
            if outer is None:
                self._outermost.append(copy)
        assert copy is not None
        return copy
