"""bench/benchlib/stats.py: medians, spreads, and whether two groups of measurements differ."""
import itertools
import math
import statistics

median = statistics.median


def spread(values):
    """How far the values lie apart, as a part of their median."""
    middle = median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def ranks(values):
    """The rank of each value, from one; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    found = [0.0] * len(values)
    at = 0
    for _, group in itertools.groupby(order, key=lambda index: values[index]):
        members = list(group)
        for index in members:
            found[index] = at + (len(members) + 1) / 2
        at += len(members)
    return found


def rank_test(left, right):
    """The two-sided p of the test of Mann and Whitney: how probable so uneven ranks are if nothing differs.

    Exact for small groups, also with equal values; by the normal distribution where there are too many splits."""
    both = ranks([*left, *right])
    count, total = len(left), len(both)
    if not left or not right:
        return 1.0
    mean = count * (total + 1) / 2
    distance = abs(sum(both[:count]) - mean)
    if math.comb(total, count) <= 50_000:
        splits = itertools.combinations(both, count)
        as_far = sum(abs(sum(split) - mean) >= distance - 1e-9 for split in splits)
        return as_far / math.comb(total, count)
    variance = sum((rank - (total + 1) / 2) ** 2 for rank in both) * count * (total - count) / (total * (total - 1))
    if variance == 0:
        return 1.0
    return math.erfc(max(distance - 0.5, 0) / math.sqrt(2 * variance))


def among_many(probabilities):
    """The same, corrected for how many there are, by Benjamini and Hochberg: of what is then below 0.05, one of twenty is a
    false alarm on average; and where nothing differs, there is any false alarm in one of twenty runs only."""
    order = sorted(range(len(probabilities)), key=lambda index: -probabilities[index])
    corrected, smallest = [1.0] * len(probabilities), 1.0
    for place, index in enumerate(order):
        smallest = min(smallest, probabilities[index] * len(probabilities) / (len(probabilities) - place))
        corrected[index] = smallest
    return corrected


def min_p(left, right):
    """What `rank_test` gives for so many values on each side when they do not overlap at all."""
    return min(1.0, 2 / math.comb(left + right, left))


def quantile(values, part):
    """The smallest value that no less than this part of the values does not exceed."""
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]
