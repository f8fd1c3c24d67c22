"""Every bound again with 50 digits, from the formulas and with no function of the package."""

import mpmath as mp
import numpy as np

mp.mp.dps = 50


def ratio(loss, start):
    if not np.isfinite(loss):
        return mp.inf
    if start == 0:
        return mp.mpf(0) if loss == 0 else mp.inf
    return mp.mpf(float(loss)) / mp.mpf(float(start))


def z_of(table):
    return [
        [min(ratio(loss, l0), mp.mpf(1)) for loss, l0 in zip(row, table.start, strict=True)] for row in table.losses
    ]


def mean(values):
    values = list(values)
    return mp.fsum(values) / len(values)


def wealth(values, t):
    return mp.fsum(mp.log(1 - mp.mpf(float(t)) * value) for value in values)


def largest_mean(values, grid, n, level):
    """sup {m : sum_k w_k exp(G_k) (1 - t_k m)^-n < 1 / level}."""
    terms = [
        (mp.mpf(float(w)), mp.mpf(float(t)), wealth(values, t)) for t, w in zip(grid.points, grid.weights, strict=True)
    ]

    def excess(m):
        return mp.log(mp.fsum(w * mp.exp(g - n * mp.log(1 - t * m)) for w, t, g in terms)) + mp.log(level)

    return mp.mpf(1) if excess(mp.mpf(1)) < 0 else bisect(excess, mp.mpf(0), mp.mpf(1))


def bisect(function, low, high):
    """The root of an increasing function."""
    for _ in range(160):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return (low + high) / 2


def kl(q, p):
    first = mp.mpf(0) if q == 0 else q * mp.log(q / p)
    return first + (mp.mpf(0) if q == 1 else (1 - q) * mp.log((1 - q) / (1 - p)))


def kl_upper(q, price):
    return mp.mpf(1) if q == 1 else bisect(lambda p: kl(q, p) - price, q, mp.mpf(1) - mp.mpf(10) ** -45)


def kl_lower(q, price):
    return mp.mpf(0) if q == 0 else bisect(lambda p: price - kl(q, p), mp.mpf(10) ** -45, q)


def binomial_tail(n, k, p):
    """P(Bin(n, p) >= k)."""
    return mp.fsum(mp.binomial(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))


def clopper_pearson(k, n, level):
    return mp.mpf(0) if k == 0 else bisect(lambda p: binomial_tail(n, k, p) - level, mp.mpf(0), mp.mpf(1))


def order_statistic(ratios, q, level):
    n = len(ratios)
    for k in range(1, n + 1):
        if binomial_tail(n, k, mp.mpf(float(q))) <= level:
            return sorted(ratios)[k - 1]
    return mp.inf


def divergence(q, p):
    return mp.fsum(a * mp.log(a / b) for a, b in zip(q, p, strict=True) if a > 0)


def posterior_mean(values, n, grid, q, price):
    """max sum q m with sum q log e(m) <= price, by its multiplier; n is one number for each candidate."""
    logs = [
        [mp.log(mp.mpf(float(w))) + wealth(row, t) for t, w in zip(grid.points, grid.weights, strict=True)]
        for row in values
    ]
    t = [mp.mpf(float(s)) for s in grid.points]

    def log_e(i, m):
        return mp.log(mp.fsum(mp.exp(g - n[i] * mp.log(1 - s * m)) for g, s in zip(logs[i], t, strict=True)))

    def slope(i, m):
        terms = [mp.exp(g - n[i] * mp.log(1 - s * m)) for g, s in zip(logs[i], t, strict=True)]
        return mp.fsum(e * n[i] * s / (1 - s * m) for e, s in zip(terms, t, strict=True)) / mp.fsum(terms)

    def points(log_nu):
        goal, found = mp.exp(-log_nu), []
        for i in range(len(values)):
            if slope(i, mp.mpf(1)) <= goal:
                found.append(mp.mpf(1))
            elif slope(i, mp.mpf(0)) >= goal:
                found.append(mp.mpf(0))
            else:
                found.append(bisect_short(lambda m, i=i: slope(i, m) - goal, mp.mpf(0), mp.mpf(1)))
        return found

    def excess(m):
        return mp.fsum(a * log_e(i, x) for i, (a, x) in enumerate(zip(q, m, strict=True))) - price

    if excess([mp.mpf(1)] * len(values)) <= 0:
        return mp.mpf(1)
    log_nu = bisect_short(lambda s: -excess(points(s)), mp.mpf(-20), mp.mpf(10))
    return mp.fsum(a * x for a, x in zip(q, points(log_nu), strict=True))


def bisect_short(function, low, high):
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if function(middle) > 0 else (middle, high)
    return (low + high) / 2
