# doctor/gdb/braid_cycles.py: which tasks of the walks of braid.py wait for each other in a cycle; knows nothing of gdb.
import types


def head_of(scope):
    return f"task {scope.owner}" + (f' "{scope.name}"' if scope.name else "")


def find_makers(walks):
    """Which task makes the future that another one waits for. One whose frame is not known, as it is ready or runs, is
    not found."""
    makers = {}
    for walk in walks:
        for scope in walk.scopes:
            makers[scope.result] = scope.owner
        for task in walk.tasks:
            if task.is_owner and task.within in walk.places:
                makers[task.result] = walk.scopes[walk.places[task.within]].owner
    makers[0] = 0
    for walk in walks:
        for task in walk.tasks:
            task.maker = makers.get(task.future, 0)


class Cycles:
    """Waits that nothing can end, as src/coro/dump_deadlocks.cpp finds them. All homes were looked at in one moment."""

    def __init__(self, walks):
        self.scopes, self.waits, self.owners, self.freed = [], [], {}, []
        for walk in walks:
            self.add_scopes(walk)
        for number, wait in enumerate(self.waits):
            self.tie(number, wait)
        for number, scope in enumerate(self.scopes):
            is_owner = scope.owner == number
            if scope.all == 0:
                self.free(scope.joined_by)
            if scope.known < scope.all or (is_owner and scope.all == 0):
                self.free_scope(number)
            if is_owner and not scope.tasks:
                self.free_owner(number)
            if scope.known < scope.all:
                self.free_owner(scope.owner)
        self.free([number for number, wait in enumerate(self.waits) if wait.needs is None])
        while self.freed:
            within = self.waits[self.freed.pop()].within
            if within is not None:
                self.free_scope(within)
                self.free_owner(self.scopes[within].owner)

    def add_scopes(self, walk):
        base = len(self.scopes)
        for each in walk.scopes:
            around = None if each.around is None else base + each.around
            made = types.SimpleNamespace(seen=each, around=around, known=0, all=each.tasks + (1 if walk.problems else 0),
                                         owner=None, tasks=[], first=None, may_go_on=False, may_release=False,
                                         joined_by=[], wanted_by=[])
            if each.owner:
                made.owner = len(self.scopes)
                self.owners.setdefault(each.owner, made.owner)
            if around is not None:
                self.scopes[around].known += 1 if each.owner else 0
                made.owner = self.scopes[around].owner if made.owner is None else made.owner
            self.scopes.append(made)
        for each in walk.tasks:
            within, joins = (None if place is None else base + place
                             for place in (walk.places.get(each.within), walk.places.get(each.joins)))
            self.add_wait(types.SimpleNamespace(seen=each, within=within, needs=joins, may_end=False))

    def add_wait(self, wait):
        number = len(self.waits)
        self.waits.append(wait)
        at = wait.within
        if at is None:
            return
        self.scopes[at].known += 1
        if self.scopes[at].owner is not None:
            self.scopes[self.scopes[at].owner].tasks.append(number)
        while at is not None and self.scopes[at].first is None:
            self.scopes[at].first = number
            at = self.scopes[at].around

    def tie(self, number, wait):
        wait.needs = self.owners.get(wait.seen.lock_of or wait.seen.maker, wait.needs)
        if wait.needs is not None:
            needed = self.scopes[wait.needs]
            (needed.wanted_by if wait.seen.lock_of else needed.joined_by).append(number)

    def free(self, waits):
        for each in waits:
            if not self.waits[each].may_end:
                self.waits[each].may_end = True
                self.freed.append(each)

    def free_scope(self, at):
        while at is not None and not self.scopes[at].may_go_on:
            self.scopes[at].may_go_on = True
            self.free(self.scopes[at].joined_by)
            at = self.scopes[at].around

    def free_owner(self, at):
        if at is not None and not self.scopes[at].may_release:
            self.scopes[at].may_release = True
            self.free(self.scopes[at].wanted_by)

    def after(self, number):
        needed = self.scopes[self.waits[number].needs]
        if not self.waits[number].seen.lock_of:
            return needed.first
        return next((each for each in needed.tasks if not self.waits[each].seen.joins), needed.tasks[0])

    def texts(self):
        came_from = {}
        for start, wait in enumerate(self.waits):
            at = start
            while not wait.may_end and at not in came_from:
                came_from[at] = start
                at = self.after(at)
            if not wait.may_end and came_from[at] == start and at in came_from:
                yield self.text(at)

    def text(self, at):
        """From the task with the lowest number on."""
        cycle = [at]
        while (at := self.after(at)) != cycle[0]:
            cycle.append(at)
        start = min(range(len(cycle)), key=lambda place: self.number(cycle[place]))
        cycle = cycle[start:] + cycle[:start]
        steps = [self.object(each, then) for each, then in zip(cycle, cycle[1:] + cycle[:1])]
        return self.subject(cycle[0]) + " waits for " + ", which waits for ".join(steps)

    def owner(self, wait):
        within = self.waits[wait].within
        owner = None if within is None else self.scopes[within].owner
        return None if owner is None else self.scopes[owner].seen

    def number(self, wait):
        return self.owner(wait).owner if self.owner(wait) else 0

    def subject(self, wait):
        owner = self.owner(wait)
        return head_of(owner) if owner else "a task without a number"

    def object(self, wait, then):
        if self.waits[wait].seen.lock_of:
            return "the lock of " + self.subject(then)
        if not self.waits[wait].seen.joins:
            return "the future of " + self.subject(then)
        return "a task of its own" if self.number(wait) == self.number(then) else "the end of " + self.subject(then)
